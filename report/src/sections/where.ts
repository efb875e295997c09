// SPDX-License-Identifier: Apache-2.0

import { barsOption, topCount, topParts, treemapOption } from "../charts/where";
import type { Context } from "../context";
import { h } from "../dom";
import { makeFigure, type TableView } from "../figure";
import { count, duration, none, percent } from "../format";

export function whereSection(context: Context): HTMLElement {
  const { model } = context;
  const missing = () => (model.kernels.length === 0 ? "The session has no kernels." : null);
  const parts = topParts(model, topCount);
  const label = () => "Time by kernel: " + parts.slice(0, 3).map((p) =>
    `${p.label} ${percent(model.duration > 0 ? p.duration / model.duration : null)}`).join(", ");
  const table = (): TableView => ({ head: ["Kernel", "Time", "Share", "Launches", "Mean", "Samples"],
    rows: parts.map((p) => [p.kernel ? h("button", { type: "button", class: "name", title: p.kernel.label,
      click: () => context.choose(p.kernel!) }, h("bdi", null, p.label)) : p.label, duration(p.duration),
    percent(model.duration > 0 ? p.duration / model.duration : null), count(p.invocations),
    duration(p.invocations > 0 ? p.duration / p.invocations : null), p.kernel ? count(p.kernel.captured) : none]) });
  const click = (data: { kernel?: number | null }) => {
    const kernel = typeof data.kernel === "number" ? model.kernels[data.kernel] : undefined;
    if (!kernel) return;
    context.choose(kernel);
    document.getElementById("kernel")?.scrollIntoView({ block: "start" });
  };
  const treemap = makeFigure({ name: "treemap", title: "Share of the time", height: "clamp(260px, 46vh, 560px)", label,
    how: "Each area is a kernel, as large as its part of all kernel time; grey areas are kernels beyond the eight that " +
      "take most. The same colour means the same kernel in every chart. A click looks into the kernel below.",
    option: (theme) => treemapOption(model, theme), missing, table, click });
  const bars = makeFigure({ name: "bars", title: `The ${Math.min(topCount, model.kernels.length)} longest`,
    height: `${24 + 22 * Math.max(1, parts.length)}px`, label,
    how: "Time of each kernel, all its launches added up, longest first, and how many of them were sampled; behind 30 " +
      "kernels comes what is left as one bar. Names are cut to what tells kernels apart, point at a bar for the whole name.",
    option: (theme, width) => barsOption(model, theme, width), missing, table, click });
  return h("section", { id: "where", "aria-labelledby": "h-where" }, h("h2", { id: "h-where" }, "Where the time goes"),
    h("div", { class: "two" }, treemap.element, bars.element));
}
