// SPDX-License-Identifier: Apache-2.0
//
// Shows one kernel: the durations of its launches, its clusters and its samples.

import { binsOf, histogramOption } from "../charts/histogram";
import { separateShapesCommand } from "../commands";
import type { Context } from "../context";
import { h, replace } from "../dom";
import { makeFigure, plainTable } from "../figure";
import { count, duration, none, number, percent, tidy, visible } from "../format";
import { labelOf, rangeOf, search, type Cluster, type Kernel, type Model } from "../model";
import type { PlanSample, Triple } from "../types";
import { commandBox } from "./command_box";

const maxFound = 50;
const samplesListed = 6;

const cvOf = (c: Cluster) => (c.mean > 0 ? c.stddev / c.mean : null);

// Returns a search field for kernels. Arrow keys move through the results, and Enter selects a kernel.
function picker(context: Context): HTMLElement {
  const { model } = context;
  let found: Kernel[] = [];
  let at = 0;
  const options = h("ul", { id: "kernel-options", role: "listbox", tabindex: "-1", "aria-label": "Kernels found", hidden: true });
  const input = h("input", { id: "kernel-search", type: "search", role: "combobox", autocomplete: "off", spellcheck: "false",
    "aria-expanded": "false", "aria-controls": "kernel-options", "aria-autocomplete": "list",
    placeholder: "Find a kernel: words of its name" });
  const close = () => {
    options.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const take = (kernel: Kernel | undefined) => {
    if (!kernel) return;
    input.value = "";
    close();
    context.choose(kernel);
  };
  const mark = () => {
    [...options.children].forEach((o, i) => o.setAttribute("aria-selected", String(i === at)));
    const active = options.children[at];
    if (!active) return;
    input.setAttribute("aria-activedescendant", active.id);
    // Scroll only the list, not the page.
    const { offsetTop: top, offsetHeight: height } = active as HTMLElement;
    if (top < options.scrollTop) options.scrollTop = top;
    else if (top + height > options.scrollTop + options.clientHeight) options.scrollTop = top + height - options.clientHeight;
  };
  const open = () => {
    found = search(model.byTime, input.value).slice(0, maxFound);
    at = 0;
    replace(options, ...found.map((kernel, i) => h("li", { id: `kernel-option-${i}`, role: "option", title: kernel.label,
      mousedown: (event: MouseEvent) => {
        event.preventDefault();
        take(kernel);
      } }, h("bdi", null, kernel.label), h("span", { class: "quiet" }, percent(kernel.share)))));
    if (found.length === 0) options.append(h("li", { class: "quiet", role: "option", "aria-disabled": "true" }, "No kernel found"));
    options.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark();
  };
  input.addEventListener("input", open);
  input.addEventListener("focus", open);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (options.hidden) open();
      else at = Math.max(0, Math.min(found.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
      mark();
    } else if (event.key === "Enter") {
      if (!options.hidden) take(found[at]);
    } else if (event.key === "Escape") {
      // The default action would clear the field, which reopens the list.
      event.preventDefault();
      input.value = "";
      close();
    }
  });
  const step = (by: number) => {
    const rank = (context.chosen?.rank ?? 0) + by;
    const kernel = model.byTime[rank];
    if (kernel) context.choose(kernel);
  };
  return h("div", { class: "picker" },
    h("div", { class: "combo" }, h("label", { for: "kernel-search", class: "unseen" }, "Find a kernel"), input, options),
    h("button", { type: "button", id: "kernel-before", click: () => step(-1) }, "‹ Longer"),
    h("button", { type: "button", id: "kernel-after", click: () => step(1) }, "Shorter ›"));
}

function clusterRows(kernel: Kernel) {
  return kernel.clusters.map((c, i) => {
    const [low, high] = rangeOf(c.samples.map((s) => s.weight));
    const listed = c.samples.slice(0, samplesListed).map((s) => count(s.index)).join("; ") +
      (c.samples.length > samplesListed ? `; +${c.samples.length - samplesListed}` : "");
    return [String(i + 1), `${duration(c.lower)} – ${duration(c.upper)}`, count(c.count), duration(c.mean),
      percent(cvOf(c)), h("span", { class: c.captured === 0 ? "bad-text" : c.captured < c.target ? "care-text" : "" },
        `${count(c.captured)} / ${count(c.target)}`),
      c.state || none, c.samples.length === 0 ? none : low === high ? tidy(number(low, 6)) : `${number(low)} – ${number(high)}`,
      h("span", { class: "listed", title: c.samples.slice(0, 200).map((s) => s.index).join(", ") }, listed || none)];
  });
}

const maxShapes = 100;

// Returns the launch configurations of the kernel's name if the session distinguishes them; otherwise, the configurations
// of its samples.
function shapesOf(kernel: Kernel, model: Model, choose: (kernel: Kernel) => void): HTMLElement {
  const panel = h("div", { class: "panel narrow" }, h("h3", null, "Launch shapes"));
  if (kernel.grid !== null) {
    const same = model.byTime.filter((k) => k.name === kernel.name);
    const time = same.reduce((a, k) => a + k.duration, 0);
    panel.append(plainTable({ head: ["Grid", "Block", "Launches", "Mean", "Time", "Share of the name", "Samples"], rows: same.slice(0, maxShapes)
      .map((k) => [k === kernel ? shown(k.grid) : h("button", { type: "button", class: "name", click: () => choose(k) }, shown(k.grid)),
        shown(k.block), count(k.invocations), duration(k.mean), duration(k.duration), percent(time > 0 ? k.duration / time : null),
        count(k.captured)]),
      ...(same.length > maxShapes ? { note: `${count(same.length - maxShapes)} more shapes are not listed.` } : {}) }));
    return panel;
  }
  const shapes = new Map<string, { grid: Triple | null; block: Triple | null; samples: PlanSample[] }>();
  for (const sample of kernel.clusters.flatMap((c) => c.samples)) {
    const key = `${shown(sample.grid)} ${shown(sample.block)}`;
    const of = shapes.get(key);
    if (of) of.samples.push(sample);
    else shapes.set(key, { grid: sample.grid, block: sample.block, samples: [sample] });
  }
  const rows = [...shapes.values()].filter((s) => s.grid !== null).sort((a, b) => b.samples.length - a.samples.length);
  const command = separateShapesCommand(model);
  panel.append(h("p", { class: "quiet" }, rows.length > 0 ? "Only shapes of samples: this session does not separate launches by shape. "
    : "The session does not contain the shapes of this kernel. ", command === "" ? "--group-by launch separates them." : "This command separates them:"),
    ...(command === "" ? [] : [commandBox("Command that separates shapes", () => command).element]));
  if (rows.length > 0) {
    panel.append(plainTable({ head: ["Grid", "Block", "Samples", "Durations"], rows: rows.slice(0, maxShapes).map((s) => {
      const [low, high] = rangeOf(s.samples.map((sample) => sample.duration_ns));
      return [shown(s.grid), shown(s.block), count(s.samples.length), low === high ? duration(low) : `${duration(low)} – ${duration(high)}`];
    }) }));
  }
  return panel;
}

const shown = (t: Triple | null) => (t ? t.join("×") : none);

export function kernelSection(context: Context): HTMLElement {
  const { model } = context;
  const view = { logCount: false };
  const kernel = () => context.chosen;
  const log = h("button", { type: "button", class: "small", "aria-pressed": "false", click: () => {
    view.logCount = !view.logCount;
    log.setAttribute("aria-pressed", String(view.logCount));
    figure.update();
  } }, "Log counts");
  const note = h("p", { class: "quiet", hidden: true });
  const figure = makeFigure({ name: "histogram", title: "Launch durations", height: "clamp(280px, 40vh, 420px)",
    how: "Each bar counts the launches with a duration in its range, on a log axis. Dashed lines " +
      "separate the clusters, neighbors have different colors, and clusters without a sample are amber. The triangles below are " +
      "the samples; if there are many, similar samples share a triangle. Bars may have different widths, because adjacent bins " +
      "are joined until 64 are left: compare counts, not areas. Exploratory captures are not in the bars, and their " +
      "cluster, the last, may overlap with others.",
    label: () => {
      const k = kernel();
      return k ? `Histogram of the durations of ${k.short}: ${count(k.invocations)} launches in ${k.clusters.length} ` +
        `clusters, ${k.captured} sampled` : "No kernel";
    },
    missing: () => {
      const k = kernel();
      return !k || (k.histogram.length === 0 && k.clusters.length === 0)
        ? "The session contains neither clusters nor a histogram of this kernel." : null;
    },
    option: (theme) => (kernel() ? histogramOption(kernel()!, theme, view) : {}),
    table: () => ({ head: ["From", "To", "Launches", "Cluster"], rows: binsOf(kernel()!).map(([from, to, n, cluster]) =>
      [duration(from), duration(to), count(n), cluster! < 0 ? none : String(cluster! + 1)]) }),
    tools: [log] });

  const title = h("h3", { class: "kernel-name" });
  const facts = h("dl", { class: "facts" });
  const clusters = h("div");
  const shapes = h("div");
  const update = () => {
    const k = kernel();
    if (!k) return;
    replace(title, h("bdi", null, k.short));
    title.title = k.label;
    const fact = (name: string, value: string) => h("div", null, h("dt", null, name), h("dd", null, value));
    replace(facts, fact("rank", `${count(k.rank + 1)} of ${count(model.kernels.length)}`),
      fact("time", `${duration(k.duration)}, ${percent(k.share)}`), fact("launches", count(k.invocations)),
      fact("mean", duration(k.mean)), fact("cv", percent(k.cv)),
      k.category !== "" && fact("category", k.category), fact("sampled", count(k.captured)),
      k.uncovered > 0 && fact("uncovered", duration(k.uncovered)), k.imputed > 0 && fact("imputed", count(k.imputed)));
    const names = k.pooled.length > 0 ? k.pooled.map(labelOf) : [visible(k.name) || "(no name)"];
    replace(full, h("summary", null, k.pooled.length > 0 ? `${count(k.pooled.length)} kernels share these clusters` : "Full name"),
      ...names.map((name) => h("p", { class: "full", tabindex: 0 }, h("bdi", null, name))));
    replace(clusters, k.clusters.length > 0 ? plainTable({ head: ["#", "Range", "Launches", "Mean", "cv", "Captured / target",
      "State", "Weight", "Samples (launch)"], rows: clusterRows(k) })
      : h("p", { class: "lacks" }, "This kernel has no clusters: no samples were allocated to it."));
    const bare = k.histogram.length === 0 && k.clusters.length > 0;
    note.hidden = !bare;
    note.textContent = "There is no histogram of this kernel: its clusters are shown instead.";
    replace(shapes, shapesOf(k, model, (other) => context.choose(other)));
    figure.update();
  };
  const full = h("details", { class: "how" });
  context.onChoose(update);
  update();
  figure.element.querySelector(".how")!.after(note);
  return h("section", { id: "kernel", "aria-labelledby": "h-kernel" }, h("h2", { id: "h-kernel" }, "One kernel"),
    picker(context), h("div", { class: "kernel-head" }, title, full, facts),
    h("div", { class: "two wide-right" }, figure.element,
      h("div", { class: "panel" }, h("h3", null, "Clusters"), h("details", { class: "how" },
        h("summary", null, "How to read this"), h("p", null, "A cluster contains launches of similar duration. cv is the standard " +
          "deviation divided by the mean; a larger cv needs more samples. The weight of a sample is the number of launches " +
          "that it represents.")), clusters)), shapes);
}
