// SPDX-License-Identifier: Apache-2.0
//
// The kernels with the most time as bars, in the colors of their categories, and the totals of the categories. stemtap
// report guesses categories from names (docs/formats/report.md).

import type { EChartsCoreOption } from "echarts/core";
import { count, duration, percent, plural, tidy } from "../format";
import { cutNames } from "../labels";
import type { Kernel, Model } from "../model";
import { categoryColor, type Theme } from "../theme";
import { axis, base, cutText, evenTicks, tip, wideGlyph, type Any } from "./common";

export interface Part {
  kernel: Kernel | null; // null for all other kernels together
  label: string;
  duration: number;
  invocations: number;
}

// Returns the kernels with the most time, and one part for all other kernels.
export function topParts(model: Model, max: number): Part[] {
  const top = model.byTime.slice(0, max);
  const parts: Part[] = top.map((kernel) => ({ kernel, label: kernel.short, duration: kernel.duration,
    invocations: kernel.invocations }));
  const rest = model.byTime.slice(max);
  if (rest.length > 0) {
    parts.push({ kernel: null, label: `${rest.length.toLocaleString("en-US")} other kernels`,
      duration: rest.reduce((a, k) => a + k.duration, 0), invocations: rest.reduce((a, k) => a + k.invocations, 0) });
  }
  return parts;
}

export const topCount = 20;

export interface CategoryTotals {
  name: string;
  index: number; // of its color
  duration: number;
  invocations: number;
  captured: number;
  kernels: Kernel[]; // longest first
}

// Returns the totals of each category, longest first, or nothing if the report has no categories.
export function categoriesOf(model: Model): CategoryTotals[] {
  const totals = new Map<number, CategoryTotals>();
  for (const kernel of model.byTime) {
    const index = kernel.categoryIndex;
    if (index < 0) continue;
    let of = totals.get(index);
    if (!of) totals.set(index, (of = { name: kernel.category, index, duration: 0, invocations: 0, captured: 0, kernels: [] }));
    of.duration += kernel.duration;
    of.invocations += kernel.invocations;
    of.captured += kernel.captured;
    of.kernels.push(kernel);
  }
  return [...totals.values()].sort((a, b) => b.duration - a.duration);
}

function partTip(model: Model, part: Part) {
  const rows: [string, string][] = [["time", `${duration(part.duration)}, ` +
    percent(model.duration > 0 ? part.duration / model.duration : null)], ["launches", count(part.invocations)],
    ["mean", duration(part.invocations > 0 ? part.duration / part.invocations : null)]];
  if (part.kernel) {
    if (part.kernel.category !== "") rows.push(["category", part.kernel.category]);
    rows.push(["clusters", count(part.kernel.clusters.length)], ["samples", count(part.kernel.captured)]);
  }
  return tip(cutText(part.kernel?.label ?? part.label, 300), rows);
}

// All other kernels together have no category. Without categories, all kernels have one color.
function styleOf(theme: Theme, kernel: Kernel | null): Any {
  if (kernel === null) return { color: theme.band, borderColor: theme.axis, borderWidth: 1 };
  return { color: kernel.categoryIndex < 0 ? theme.accent : categoryColor(theme, kernel.categoryIndex) };
}

export function barsOption(model: Model, theme: Theme, width: number): EChartsCoreOption {
  const parts = topParts(model, topCount);
  const names = Math.round(Math.min(420, Math.max(110, width * 0.42)));
  const wide = width >= 500;
  const shortened = cutNames(parts.map((part) => part.label), Math.floor(names / wideGlyph));
  const longest = parts.reduce((a, part) => Math.max(a, part.duration), 0);
  const [, step = 0] = evenTicks(0, longest, Math.max(2, (width - names) / 150)); // leaves room for labels between the lines
  const label = (part: Part | undefined) => percent(model.duration > 0 && part ? part.duration / model.duration : null) +
    (wide && part?.kernel ? `, ${plural(part.kernel.captured, "sample")}` : "");
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "axis", axisPointer: { type: "shadow" }, formatter: (p: Any) => {
      const part = parts[p[0]?.dataIndex];
      return part ? partTip(model, part) : "";
    } },
    grid: { left: names + 10, right: wide ? 130 : 62, top: 2, bottom: 22, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "value", interval: step || undefined, max: step > 0 ? Math.ceil(longest / step) * step : undefined,
      axisLabel: { formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns))) } }),
    yAxis: { type: "category", inverse: true, data: parts.map((_, i) => String(i)), axisLine: { show: false },
      axisTick: { show: false }, triggerEvent: true, axisLabel: { interval: 0, width: names, overflow: "truncate",
        ellipsis: "…", color: theme.ink, fontSize: 12, formatter: (i: string) => shortened[Number(i)] ?? "" } },
    series: [{ name: "time", type: "bar", barCategoryGap: 5, data: parts.map((part, i) => ({ value: part.duration, part: i,
      kernel: part.kernel?.id ?? null, itemStyle: styleOf(theme, part.kernel) })),
      label: { show: true, position: "right", color: theme.quiet, backgroundColor: theme.surface, fontSize: 12,
        formatter: (p: Any) => label(parts[p.dataIndex]) } }] };
}
