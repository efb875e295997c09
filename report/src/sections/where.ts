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
    how: "The area of a kernel is its share of the kernel time. The eight kernels with the most time have their own color, " +
      "the same in every chart; the others are gray. Click a kernel to select it.",
    option: (theme) => treemapOption(model, theme), missing, table, click });
  const bars = makeFigure({ name: "bars", title: `The ${Math.min(topCount, model.kernels.length)} longest`,
    height: `${24 + 22 * Math.max(1, parts.length)}px`, label,
    how: "The total time of each kernel, longest first, and its number of samples. The last bar combines all kernels after the " +
      "first 30. Names are shortened; point at a bar to see the full name.",
    option: (theme, width) => barsOption(model, theme, width), missing, table, click });
  return h("section", { id: "where", "aria-labelledby": "h-where" }, h("h2", { id: "h-where" }, "Where the time goes"),
    h("div", { class: "two" }, treemap.element, bars.element));
}
