// SPDX-License-Identifier: Apache-2.0
//
// The session over time, and the drift of kernel durations.

import { driftKernels, driftOf, driftOption, driftPart } from "../charts/drift";
import { binEvents, eventNames, timelineOption, timelinePart, type TimelineAxis } from "../charts/timeline";
import type { Context } from "../context";
import { h } from "../dom";
import { makeFigure } from "../figure";
import { count, duration, percent, times } from "../format";
import { cutNames } from "../labels";
import { maxLabel, type Kernel } from "../model";
import { colorOf, dark, light } from "../theme";

export function timelineSection({ model }: Context): HTMLElement {
  // The duration of a replay is unrelated to the duration of the run.
  let by: TimelineAxis = model.timeline.length > 0 && model.mode !== "replay" ? "time" : "launches";
  const choice = (name: TimelineAxis, text: string) => {
    const input = h("input", { type: "radio", name: "timeline-axis", value: name, change: () => {
      by = name;
      figure.showAll();
      figure.update();
    } });
    input.checked = by === name;
    return h("label", null, input, text);
  };
  const axis = h("fieldset", { class: "choice" }, h("legend", { class: "unseen" }, "Axis"),
    choice("time", "by time"), choice("launches", "by launch"));
  const figure = makeFigure({ name: "timeline", title: "Captures, launches and the bound", height: "470px",
    how: "From top to bottom: launches observed by the sampler, captures (and clusters that need more), the error bound at " +
      "that time, which includes uncovered time in full, and decisions. The bound shrinks as samples are captured; below the " +
      "dashed line it meets the request, and at the end it is the bound of the plan. A tall mark represents many decisions.",
    label: () => `Over the session: ${count(model.timeline.at(-1)?.observed ?? model.invocations)} launches observed, ` +
      `${count(model.timeline.at(-1)?.captured ?? model.samples.length)} captured, bound ${percent(model.bound)}`,
    option: (theme, _, view) => timelineOption(model, theme, by, view),
    zoom: (view) => timelinePart(model, by, view),
    table: () => model.timeline.length > 0 ? { head: ["Elapsed", "Launches", "GPU time", "Captured", "Clusters open",
      "Bound", "Dropped"], rows: model.timeline.map((p) => [duration(p.elapsed * 1e9), count(p.observed),
      duration(p.duration), count(p.captured), count(p.open), percent(p.bound), count(p.dropped)]) }
      : { head: ["Launch", "Decision", "Count"], rows: binEvents(model.events, (i) => Math.min(i, model.launches), 0,
        model.launches, 50)
        .map(([x, kind, n]) => [count(x), eventNames[kind] ?? "", count(n)]) },
    tools: [model.timeline.length > 0 && axis] });
  const notes: string[] = [];
  if (model.timeline.length === 0 && model.events.length > 0) {
    notes.push("The session has no overview.json, so the timeline shows only decisions.");
  }
  if (model.launches > model.invocations) {
    notes.push("Excluded launches are numbered, but not observed; the positions of decisions assume that they are spread " +
      "evenly.");
  }
  if (model.eventsLeftOut > 0) notes.push(`${count(model.eventsLeftOut)} decisions are omitted from this page.`);
  return h("section", { id: "timeline", "aria-labelledby": "h-timeline" },
    h("h2", { id: "h-timeline" }, "Timeline of the session"), figure.element,
    ...notes.map((text) => h("p", { class: "quiet" }, text)));
}

const namesOf = (kernels: Kernel[]) => cutNames(kernels.map((k) => k.short), maxLabel);

export function driftSection(context: Context): HTMLElement {
  const { model } = context;
  const slices = model.slices?.count ?? 0;
  const legend = h("ul", { class: "legend" });
  const figure = makeFigure({ name: "drift", title: "Mean duration over time", height: "clamp(260px, 36vh, 420px)",
    how: "The run is divided into equal time slices. A line shows the mean duration of a kernel's launches in each slice, divided " +
      "by the median of all slices; a constant 1× means no drift. If all kernels rise together, the cause is probably the " +
      "clock or the temperature; if a single kernel rises, the cause is probably its inputs. The axis is logarithmic and contains almost all slices; a triangle at " +
      "its edge marks a slice beyond it. Perturbed launches count as recorded.",
    label: () => "Mean duration per slice over the median of the slices, of " + namesOf(driftKernels(model, context.chosen)).join(", "),
    option: (theme, _, view) => driftOption(model, context.chosen, theme, view),
    zoom: (view) => driftPart(model, view),
    table: () => {
      const kernels = driftKernels(model, context.chosen);
      const columns = kernels.map((k) => driftOf(k, slices));
      return { head: ["Slice from", ...namesOf(kernels)], rows: Array.from({ length: slices }, (_, i) =>
        [duration(i * (model.slices?.width ?? 0)), ...columns.map((c) => times(c[i]))]) };
    } });
  const note = h("p", { class: "quiet" });
  const update = () => {
    const kernels = driftKernels(model, context.chosen);
    const names = namesOf(kernels);
    legend.replaceChildren(...kernels.map((k, i) => {
      const key = h("span", { class: "key", "aria-hidden": "true" });
      const own = k.rank < light.series.length;
      key.style.background = own ? `light-dark(${colorOf(light, k.rank)}, ${colorOf(dark, k.rank)})` : "currentcolor";
      return h("li", { class: k === context.chosen ? "chosen" : null }, h("button", { type: "button", class: "name",
        title: k.label, click: () => context.choose(k) }, key, h("bdi", null, names[i])));
    }));
    const chosen = context.chosen;
    note.hidden = !(chosen && slices > 0 && chosen.slices.length === 0);
    note.textContent = "The selected kernel is not drawn: slices are recorded only for the kernels with the most time.";
    figure.update();
  };
  context.onChoose(update);
  update();
  return h("section", { id: "drift", "aria-labelledby": "h-drift" }, h("h2", { id: "h-drift" }, "Drift"),
    figure.element, legend, note);
}
