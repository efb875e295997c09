// SPDX-License-Identifier: Apache-2.0
//
// How the session went: captures and the bound as it shrank; and whether kernels got slower or faster on the way.

import { driftKernels, driftOf, driftOption, driftPart } from "../charts/drift";
import { binEvents, eventNames, timelineOption, timelinePart, type TimelineAxis } from "../charts/timeline";
import type { Context } from "../context";
import { h } from "../dom";
import { makeFigure } from "../figure";
import { count, duration, percent, times } from "../format";
import { colourOf, dark, light } from "../theme";

const noLaunch = "No launch was recorded.";

export function timelineSection({ model }: Context): HTMLElement {
  // What a replay took says nothing of the run that it replays.
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
    how: "From above: launches that the sampler has seen, captures made (and clusters that want more), the error bound as " +
      "of then with uncovered time counted in full, and its decisions. The bound shrinks while samples come in; below " +
      "the dashed line it is what was asked for, and at the end it is the plan's. A tall mark is many decisions at once.",
    label: () => `Over the session: ${count(model.timeline.at(-1)?.observed ?? model.invocations)} launches observed, ` +
      `${count(model.timeline.at(-1)?.captured ?? model.samples.length)} captured, bound ${percent(model.bound)}`,
    missing: () => {
      if (model.events.length > 0) return null;
      if (model.timeline.length === 0) return "The session has neither overview.json nor decisions: how it went is not known.";
      return model.invocations === 0 ? noLaunch : null;
    },
    option: (theme, _, view) => timelineOption(model, theme, by, view),
    zoom: (view) => timelinePart(model, by, view),
    table: () => model.timeline.length > 0 ? { head: ["Elapsed", "Launches", "GPU time", "Captured", "Clusters open",
      "Bound", "Dropped"], rows: model.timeline.map((p) => [duration(p.elapsed * 1e9), count(p.observed),
      duration(p.duration), count(p.captured), count(p.open), percent(p.bound), count(p.dropped)]) }
      : { head: ["Launch", "Decision", "How many"], rows: binEvents(model.events, (i) => Math.min(i, model.launches), 0,
        model.launches, 50)
        .map(([x, kind, n]) => [count(x), eventNames[kind] ?? "", count(n)]) },
    tools: [model.timeline.length > 0 && axis] });
  const notes: string[] = [];
  if (model.timeline.length === 0 && model.events.length > 0) {
    notes.push("The session has no overview.json: of the timeline there are only the decisions.");
  }
  if (model.launches > model.invocations) {
    notes.push("Excluded launches are numbered, but not observed: decisions stand where they would be if these were spread " +
      "evenly.");
  }
  if (model.eventsLeftOut > 0) notes.push(`${count(model.eventsLeftOut)} decisions are left out of this page.`);
  return h("section", { id: "timeline", "aria-labelledby": "h-timeline" },
    h("h2", { id: "h-timeline" }, "How the session went"), figure.element,
    ...notes.map((text) => h("p", { class: "quiet" }, text)));
}

export function driftSection(context: Context): HTMLElement {
  const { model } = context;
  const slices = model.slices?.count ?? 0;
  const legend = h("ul", { class: "legend" });
  const figure = makeFigure({ name: "drift", title: "Mean duration over time", height: "clamp(260px, 36vh, 420px)",
    how: "The run is cut into equal slices of time. A line says how long the kernel's launches took in each slice, over " +
      "their mean of the whole run: 1× all along means that nothing drifts. A rise that all kernels share points to " +
      "clocks or heat, one of a single kernel to its inputs. Launches slowed by a tracer count as recorded.",
    label: () => "Mean duration per slice over the overall mean, of " + driftKernels(model, context.chosen)
      .map((k) => k.short).join(", "),
    missing: () => {
      if (!model.data.overview) return "The session has no overview.json: durations over time are not known.";
      if (model.invocations === 0) return noLaunch;
      if (slices === 0 || model.kernels.every((k) => k.slices.length === 0)) {
        return "The profile has no start times, so launches cannot be put in slices of time.";
      }
      return null;
    },
    option: (theme, _, view) => driftOption(model, context.chosen, theme, view),
    zoom: (view) => driftPart(model, view),
    table: () => {
      const kernels = driftKernels(model, context.chosen);
      const columns = kernels.map((k) => driftOf(k, slices));
      return { head: ["Slice from", ...kernels.map((k) => k.short)], rows: Array.from({ length: slices }, (_, i) =>
        [duration(i * (model.slices?.width ?? 0)), ...columns.map((c) => times(c[i]))]) };
    } });
  const note = h("p", { class: "quiet" });
  const update = () => {
    legend.replaceChildren(...driftKernels(model, context.chosen).map((k) => {
      const key = h("span", { class: "key", "aria-hidden": "true" });
      const own = k.rank < light.series.length;
      key.style.background = own ? `light-dark(${colourOf(light, k.rank)}, ${colourOf(dark, k.rank)})` : "currentcolor";
      return h("li", { class: k === context.chosen ? "chosen" : null }, h("button", { type: "button", class: "name",
        title: k.label, click: () => context.choose(k) }, key, h("bdi", null, k.short)));
    }));
    const chosen = context.chosen;
    note.hidden = !(chosen && slices > 0 && chosen.slices.length === 0);
    note.textContent = "The chosen kernel is not drawn: slices are kept for the kernels with the most time alone.";
    figure.update();
  };
  context.onChoose(update);
  update();
  legend.hidden = slices === 0;
  return h("section", { id: "drift", "aria-labelledby": "h-drift" }, h("h2", { id: "h-drift" }, "Drift"),
    figure.element, legend, note);
}
