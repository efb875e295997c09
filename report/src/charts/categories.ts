// SPDX-License-Identifier: Apache-2.0
//
// Kernel time by category. stemtap report guesses categories from names (docs/formats/report.md).

import type { EChartsCoreOption } from "echarts/core";
import { count, duration, percent, plural, tidy } from "../format";
import type { Kernel, Model } from "../model";
import type { Theme } from "../theme";
import { axis, base, cutText, tip, type Any } from "./common";

export interface CategoryTotals {
  name: string;
  duration: number;
  invocations: number;
  captured: number;
  kernels: Kernel[]; // longest first
}

// Returns the totals of each category, longest first, or nothing if the report has no categories.
export function categoriesOf(model: Model): CategoryTotals[] {
  const totals = new Map<string, CategoryTotals>();
  for (const kernel of model.byTime) {
    if (kernel.category === "") continue;
    let of = totals.get(kernel.category);
    if (!of) totals.set(kernel.category, (of = { name: kernel.category, duration: 0, invocations: 0, captured: 0, kernels: [] }));
    of.duration += kernel.duration;
    of.invocations += kernel.invocations;
    of.captured += kernel.captured;
    of.kernels.push(kernel);
  }
  return [...totals.values()].sort((a, b) => b.duration - a.duration);
}

export function categoriesOption(model: Model, theme: Theme, width: number): EChartsCoreOption {
  const categories = categoriesOf(model);
  const share = (c: CategoryTotals | undefined) => percent(model.duration > 0 && c ? c.duration / model.duration : null);
  const wide = width >= 500;
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "axis", axisPointer: { type: "shadow" }, formatter: (p: Any) => {
      const of = categories[p[0]?.dataIndex];
      return of ? tip(of.name, [["time", `${duration(of.duration)}, ${share(of)}`], ["launches", count(of.invocations)],
        ["kernels", count(of.kernels.length)], ["samples", count(of.captured)],
        ["longest", cutText(of.kernels[0]?.short ?? "", 80)]]) : "";
    } },
    grid: { left: 106, right: wide ? 130 : 62, top: 2, bottom: 22, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "value", splitNumber: wide ? 4 : 2,
      axisLabel: { formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns))) } }),
    yAxis: { type: "category", inverse: true, data: categories.map((c) => c.name), axisLine: { show: false },
      axisTick: { show: false }, axisLabel: { interval: 0, color: theme.ink, fontSize: 12 } },
    series: [{ name: "time", type: "bar", barCategoryGap: 5, itemStyle: { color: theme.accent },
      data: categories.map((c) => ({ value: c.duration, kernel: c.kernels[0]?.id ?? null })),
      label: { show: true, position: "right", color: theme.quiet, backgroundColor: theme.surface, fontSize: 12,
        formatter: (p: Any) => share(categories[p.dataIndex]) + (wide ? `, ${plural(categories[p.dataIndex]?.kernels.length ?? 0, "kernel")}` : "") } }] };
}
