// SPDX-License-Identifier: Apache-2.0
//
// Shows whether kernels became slower or faster: the mean duration per time slice, divided by the median of the slices.

import type { EChartsCoreOption } from "echarts/core";
import { duration, tidy, times } from "../format";
import { cutNames } from "../labels";
import { maxLabel, type Kernel, type Model } from "../model";
import { colorOf, type Theme } from "../theme";
import { drawnPoints, whole, type View } from "../zoom";
import { axis, base, plotLeft, plotRight, ticksBetween, tip, type Any } from "./common";

// Returns the mean duration in each slice divided by the median of these means, or null if the kernel did not run in the
// slice. A single slow launch does not change the median.
export function driftOf(kernel: Kernel, slices: number): (number | null)[] {
  const means = new Array<number | null>(slices).fill(null);
  for (const [slice, n, ns] of kernel.slices) {
    if (slice >= 0 && slice < slices && n > 0) means[slice] = ns / n;
  }
  const sorted = means.filter((mean) => mean !== null).sort((a, b) => a - b);
  const median = (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
  return means.map((mean) => (mean !== null && median > 0 ? mean / median : null));
}

const driftLines = 6;

export function driftKernels(model: Model, chosen: Kernel | null): Kernel[] {
  const top = model.byTime.slice(0, driftLines);
  return chosen && !top.includes(chosen) ? [...top, chosen] : top;
}

// Returns the range of ratios to draw. A slice with a single slow launch would flatten all lines, so the range omits the
// most extreme twentieth of each line on each side unless it is near the rest. The range contains at least 0.8 to 1.25.
export function driftRange(lines: (number | null)[][]): [number, number] {
  let [low, high] = [0.8, 1.25];
  for (const line of lines) {
    const sorted = line.filter((r): r is number => r !== null && r > 0).sort((a, b) => a - b);
    if (sorted.length === 0) continue;
    const beyond = Math.floor(sorted.length / 20);
    const reach = (edge: number, extreme: number) => (Math.max(edge / extreme, extreme / edge) < 1.5 ? extreme : edge);
    low = Math.min(low, reach(sorted[beyond]!, sorted[0]!));
    high = Math.max(high, reach(sorted[sorted.length - 1 - beyond]!, sorted.at(-1)!));
  }
  return [low / 1.03, high * 1.03];
}

export function driftPart(model: Model, view: View): string {
  const end = (model.slices?.width ?? 0) * (model.slices?.count ?? 0);
  return `${duration(view.from * end)} to ${duration(view.to * end)}`;
}

export function driftOption(model: Model, chosen: Kernel | null, theme: Theme,
    view: View = whole): EChartsCoreOption {
  const slices = model.slices ?? { width: 1, count: 0 };
  const kernels = driftKernels(model, chosen);
  const end = slices.width * slices.count;
  const at = (slice: number) => ((slice + 0.5) * slices.width);
  const lines = kernels.map((kernel) => driftOf(kernel, slices.count));
  const [low, high] = driftRange(lines);
  const names = cutNames(kernels.map((kernel) => kernel.short), maxLabel);
  const ticks = ticksBetween(low, high);
  // A triangle at the edge marks a ratio outside of the drawn range.
  const beyond = lines.flatMap((ratios, k) => ratios.flatMap((ratio, slice) => {
    if (ratio === null || (ratio >= low && ratio <= high)) return [];
    const x = at(slice);
    return x < view.from * end || x > view.to * end ? [] : [{ value: [x, ratio > high ? high : low], line: k, ratio,
      symbolRotate: ratio > high ? 0 : 180, itemStyle: { color: colorOf(theme, kernels[k]!.rank), opacity: 1 } }];
  }));
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "axis", formatter: (list: Any) => {
      const slice = Math.floor((list[0]?.axisValue ?? 0) / slices.width);
      return tip(`${duration(slice * slices.width)} to ${duration((slice + 1) * slices.width)}`,
        (list as Any[]).filter((p) => p.seriesIndex < kernels.length).map((p): [string, string] => [names[p.seriesIndex] ?? "",
          times(p.value[1])]));
    } },
    grid: { left: plotLeft, right: plotRight, top: 28, bottom: 44, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "value", min: view.from * end, max: view.to * end || 1, splitLine: { show: false },
      name: "time since the first slice began", nameLocation: "middle", nameGap: 26,
      axisLabel: { showMaxLabel: false, showMinLabel: view.from === 0,
        formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns, 6))) } }),
    yAxis: axis(theme, { type: "log", min: low, max: high, name: "mean of slice / median of slices (log)", nameLocation: "end", nameGap: 12,
      nameTextStyle: { color: theme.quiet, fontSize: 12, align: "left", padding: [0, 0, 0, -56] },
      splitLine: { show: false }, axisTick: { customValues: ticks, lineStyle: { color: theme.axis } },
      axisLabel: { customValues: ticks, formatter: (v: number) => tidy(times(v)) } }),
    series: [...kernels.map((kernel, k) => {
      const color = colorOf(theme, kernel.rank);
      const isChosen = kernel === chosen;
      const data = drawnPoints(lines[k]!.map((ratio, slice): [number, number | null] => [at(slice), ratio]),
        ([x]) => x, view.from * end, view.to * end);
      // A point without neighbors has no line, so it needs a symbol.
      const isAlone = (i: number) => data[i - 1]?.[1] == null && data[i + 1]?.[1] == null;
      return { name: `kernel ${kernel.id}`, kernel: kernel.id, type: "line", showSymbol: true, symbol: "circle", z: isChosen ? 5 : 2,
        symbolSize: (_: Any, p: Any) => (isAlone(p.dataIndex) ? 6 : 0), data,
        lineStyle: { width: isChosen ? 3 : 1.25, color: isChosen && kernel.rank >= theme.series.length ? theme.ink : color,
          opacity: isChosen ? 1 : 0.75 }, itemStyle: { color },
        markLine: kernel === kernels[0] ? { silent: true, symbol: "none", animation: false, label: { show: false },
          lineStyle: { color: theme.axis, type: "solid" }, data: [{ yAxis: 1 }] } : undefined };
    }), { name: "beyond the axis", type: "scatter", symbol: "triangle", symbolSize: 9, z: 6, data: beyond, clip: false }] };
}
