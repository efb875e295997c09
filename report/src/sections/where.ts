// SPDX-License-Identifier: Apache-2.0

import { categoriesOf, categoriesOption } from "../charts/categories";
import { barsOption, topCount, topParts, treemapOption } from "../charts/where";
import type { Context } from "../context";
import { h } from "../dom";
import { makeFigure, type TableView } from "../figure";
import { count, duration, none, percent } from "../format";

export function whereSection(context: Context): HTMLElement {
  const { model } = context;
  const missing = () => (model.kernels.length === 0 ? "The session has no kernels." : null);
  const parts = topParts(model, topCount);
  const share = (ns: number) => percent(model.duration > 0 ? ns / model.duration : null);
  const label = () => "Time by kernel: " + parts.slice(0, 3).map((p) => `${p.label} ${share(p.duration)}`).join(", ");
  const table = (): TableView => ({ head: ["Kernel", "Time", "Share", "Launches", "Mean", "Samples"],
    rows: parts.map((p) => [p.kernel ? h("button", { type: "button", class: "name", title: p.kernel.label,
      click: () => context.choose(p.kernel!) }, h("bdi", null, p.label)) : p.label, duration(p.duration),
    share(p.duration), count(p.invocations), duration(p.invocations > 0 ? p.duration / p.invocations : null),
    p.kernel ? count(p.kernel.captured) : none]) });
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
      "first 30. Shortened names show what differs between kernels with the same name; point at a bar to see the full name.",
    option: (theme, width) => barsOption(model, theme, width), missing, table, click });
  const categories = categoriesOf(model);
  const byCategory = makeFigure({ name: "categories", title: "By category", height: `${24 + 22 * Math.max(1, categories.length)}px`,
    label: () => "Time by category: " + categories.map((c) => `${c.name} ${share(c.duration)}`).join(", "),
    how: "What the kernels compute, guessed from their names: gemm contains all matrix products, reduction also softmax, sort, scan and pooling, " +
      "copy all data movement, including gather, transposition and conversion. A kernel with an unknown name is in other. Click a bar to select " +
      "the longest kernel of the category.",
    option: (theme, width) => categoriesOption(model, theme, width),
    missing: () => missing() ?? (categories.length === 0 ? "This page contains no categories." : null),
    table: () => ({ head: ["Category", "Time", "Share", "Launches", "Kernels", "Samples"], rows: categories.map((c) => [c.name,
      duration(c.duration), share(c.duration), count(c.invocations), count(c.kernels.length), count(c.captured)]) }), click });
  return h("section", { id: "where", "aria-labelledby": "h-where" }, h("h2", { id: "h-where" }, "Where the time goes"),
    h("div", { class: "two" }, h("div", null, treemap.element, byCategory.element), bars.element));
}
