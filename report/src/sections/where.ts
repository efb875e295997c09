// SPDX-License-Identifier: Apache-2.0
//
// Where the GPU time goes: when the devices were busy, and which kernels and categories took the time.

import { busyShare } from "../charts/activity";
import { stripHeight, stripOf, stripOption, stripPart, longestDuring } from "../charts/strip";
import { barsOption, categoriesOf, topCount, topParts } from "../charts/where";
import type { Context } from "../context";
import { h, type Child } from "../dom";
import { makeFigure, plainTable } from "../figure";
import { count, duration, none, percent, plural } from "../format";
import { whyNoActivity, whyNoKernels } from "../missing";
import type { Model } from "../model";
import { categoryColor, dark, light } from "../theme";

function busyFact(model: Model): Child {
  const busy = busyShare(model);
  const devices = model.data.session?.devices?.length ?? 0;
  return busy !== null && h("p", { class: "fact" }, `${devices > 1 ? `The ${devices} devices were` : "The device was"} busy `,
    h("strong", null, percent(busy)), " of the time between the first and the last kernel.");
}

function stripFigure(model: Model): Child {
  const strip = stripOf(model);
  if (!strip) return null;
  const devices = model.activity?.devices ?? 1;
  const rows = strip.rows.length;
  const which = devices === 1 ? "" : rows === devices ? `, ${count(devices)} devices` : rows > 1 ? `, the first ${count(rows)} of ${count(devices)} devices`
    : `, mean of ${count(devices)} devices`;
  const key = h("span", { class: "shades", "aria-hidden": "true" }, "idle", h("span", { class: "shade" }), "busy");
  return makeFigure({ name: "strip", title: `The run over time${which}`,
    height: `${stripHeight(strip)}px`,
    how: "The deeper the color of a slice of the run, the longer a kernel ran in it. " +
      (strip.rows.some((row) => row.includes(":")) ? "A row is a device, as process:device. " : "") + "Ticks mark when the samples ran; a tall tick is several samples. Point at a slice to see its longest kernels. " +
      "Samples without a recorded time are drawn by their launch number.",
    label: () => `Busy time in ${plural(strip.slices.length, "slice")} of the run, and when ${plural(strip.samples.length, "sample")} ran`,
    option: (theme, _, view) => stripOption(model, strip, theme, view),
    zoom: (view) => stripPart(strip, view),
    table: () => ({ head: ["Slice from", ...(rows > 1 ? strip.rows : ["Busy"]), "Launches", "Samples", "Longest kernel"], rows: strip.slices.map((slice) => {
      const [longest] = longestDuring(model, slice.from, slice.to);
      return [duration(slice.from - strip.first), ...slice.shares.map(percent), count(slice.launches), count(slice.samples),
        longest ? h("bdi", { title: longest[0].label }, longest[0].short) : none];
    }) }),
    tools: [key] }).element;
}

// The legend of the bars, with the totals.
function categoryPanel({ model, choose }: Pick<Context, "model" | "choose">): Child {
  const categories = categoriesOf(model);
  if (categories.length === 0) return null;
  const share = (ns: number) => percent(model.duration > 0 ? ns / model.duration : null);
  const name = (of: (typeof categories)[number]) => {
    const key = h("span", { class: "key", "aria-hidden": "true" });
    key.style.background = `light-dark(${categoryColor(light, of.index)}, ${categoryColor(dark, of.index)})`;
    return h("button", { type: "button", class: "name category", title: `Select the longest: ${of.kernels[0]!.short}`,
      click: () => choose(of.kernels[0]!) }, key, of.name);
  };
  return h("div", { class: "panel", id: "categories" }, h("h3", null, "By category"), h("details", { class: "how" },
    h("summary", null, "How to read this"), h("p", null, "What the kernels compute, guessed from their names: gemm contains all matrix products, " +
      "reduction also softmax, sort, scan and pooling, copy all data movement, including gather, transposition and conversion. A kernel " +
      "with an unknown name is in other. The bars have the same colors. Click a category to select its longest kernel.")),
  plainTable({ head: ["Category", "Share", "Time", "Kernels", "Launches", "Samples"], rows: categories.map((c) => [name(c),
    share(c.duration), duration(c.duration), count(c.kernels.length), count(c.invocations), count(c.captured)]) }));
}

function barsFigure(context: Context): HTMLElement {
  const { model } = context;
  const parts = topParts(model, topCount);
  const share = (ns: number) => percent(model.duration > 0 ? ns / model.duration : null);
  const shown = Math.min(topCount, model.kernels.length);
  return makeFigure({ name: "bars", title: shown < model.kernels.length ? `The ${count(shown)} longest kernels` : plural(shown, "kernel"),
    height: `${24 + 22 * Math.max(1, parts.length)}px`,
    label: () => "Time by kernel: " + parts.slice(0, 3).map((p) => `${p.label} ${share(p.duration)}`).join(", "),
    how: "The total time of each kernel, longest first, in the color of its category, and its number of samples. " +
      `The last bar combines all kernels after the first ${topCount}. Shortened names show what differs between kernels with the same ` +
      "name; point at a bar to see the full name. Click a bar to select its kernel.",
    option: (theme, width) => barsOption(model, theme, width),
    table: () => ({ head: ["Kernel", "Category", "Time", "Share", "Launches", "Mean", "Samples"],
      rows: parts.map((p) => [p.kernel ? h("button", { type: "button", class: "name", title: p.kernel.label,
        click: () => context.choose(p.kernel!) }, h("bdi", null, p.label)) : p.label, p.kernel?.category, duration(p.duration),
      share(p.duration), count(p.invocations), duration(p.invocations > 0 ? p.duration / p.invocations : null),
      p.kernel ? count(p.kernel.captured) : none]) }),
    click: (data) => {
      const kernel = typeof data.kernel === "number" ? model.kernels[data.kernel] : undefined;
      if (!kernel) return;
      context.choose(kernel);
      document.getElementById("kernel")?.scrollIntoView({ block: "start" });
    } }).element;
}

export const hasWhere = (model: Model) => whyNoKernels(model) === null || whyNoActivity(model) === null;

export function whereSection(context: Context): HTMLElement {
  const { model } = context;
  const categories = categoryPanel({ model, choose: (kernel) => context.choose(kernel) });
  return h("section", { id: "where", "aria-labelledby": "h-where" }, h("h2", { id: "h-where" }, "GPU time"),
    busyFact(model), stripFigure(model),
    whyNoKernels(model) === null && h("div", { class: categories ? "two wide-left" : "" }, barsFigure(context), categories));
}
