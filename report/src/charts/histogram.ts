// SPDX-License-Identifier: Apache-2.0
//
// How the durations of one kernel lie, where its clusters part them and which launches were sampled.

import type { EChartsCoreOption } from "echarts/core";
import { count, duration, none, percent, tidy } from "../format";
import { clusterOf, type Kernel } from "../model";
import type { Theme } from "../theme";
import { axis, base, compact, ticksBetween, tip, type Any } from "./common";

export interface HistogramView {
  logCount: boolean;
}

// [from, to, launches, cluster]
export function binsOf(kernel: Kernel): number[][] {
  if (kernel.histogram.length === 0) return kernel.clusters.map((c, i) => [c.lower, c.upper + 1, c.count, i]);
  return kernel.histogram.map(([from, to, n]) => [from, to, n, clusterOf(kernel, from, to)]);
}

const leastNs = 0.5; // where a log axis puts 0 ns

export function histogramOption(kernel: Kernel, theme: Theme, view: HistogramView): EChartsCoreOption {
  // Without a histogram the clusters still say where launches are, though not how they lie in there.
  const made = kernel.histogram.length > 0;
  const bins = binsOf(kernel);
  const samples = kernel.clusters.flatMap((c, number) => c.samples.map((s) =>
    ({ value: [Math.max(leastNs, s.duration_ns), 0], sample: s, cluster: number })));
  const edges = [...new Set(kernel.clusters.flatMap((c) => [c.lower, c.upper + 1]))].sort((a, b) => a - b);
  const all = [...bins.flatMap((b) => [b[0]!, b[1]!]), ...edges, ...samples.map((s) => s.value[0]!)]
    .map((ns) => Math.max(leastNs, ns));
  const low = Math.min(...all, Infinity);
  const high = Math.max(...all, 0);
  const most = Math.max(1, ...bins.map((b) => b[2]!));
  const floor = view.logCount ? 0.5 : 0;
  const x = { type: "log", logBase: 10, min: low < Infinity ? low / 1.03 : 1, max: high > 0 ? high * 1.03 : 10 };
  const ticks = ticksBetween(x.min, x.max);
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "item", formatter: (p: Any) => {
      if (p.seriesName === "samples") {
        const { sample, cluster } = p.data;
        return tip(`Sample in cluster ${cluster + 1}`, [["duration", duration(sample.duration_ns)],
          ["weight", count(sample.weight)], ["launch", count(sample.index)], ["occurrence", count(sample.occurrence)],
          ...(sample.imputed ? [["imputed", "mean of its like"] as [string, string]] : [])]);
      }
      const [from, to, n, cluster] = p.value as [number, number, number, number];
      return tip(`${duration(from)} to ${duration(to)}`, [["launches", count(n)],
        ["share", percent(kernel.invocations > 0 ? n / kernel.invocations : null)],
        ["cluster", cluster < 0 ? none : String(cluster + 1)]]);
    } },
    grid: [{ left: 64, right: 16, top: 26, bottom: 66, outerBoundsMode: "none" },
      { left: 64, right: 16, height: 22, bottom: 40, outerBoundsMode: "none" }],
    xAxis: [axis(theme, { ...x, gridIndex: 0, axisLabel: { show: false }, axisTick: { show: false },
      splitLine: { show: false } }),
    axis(theme, { ...x, gridIndex: 1, name: "duration (log)", nameLocation: "middle", nameGap: 24,
      splitLine: { show: false }, axisTick: { customValues: ticks, lineStyle: { color: theme.axis } },
      axisLabel: { customValues: ticks, formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns))) } })],
    yAxis: [axis(theme, { gridIndex: 0, type: view.logCount ? "log" : "value", min: floor,
      max: view.logCount ? most * 1.5 : undefined, name: "launches", nameLocation: "end", nameGap: 10,
      nameTextStyle: { color: theme.quiet, fontSize: 12, align: "right" }, axisLabel: { formatter: compact } }),
    { gridIndex: 1, type: "value", min: -1, max: 1, show: false }],
    series: [{ name: "launches", type: "custom", xAxisIndex: 0, yAxisIndex: 0, clip: true,
      encode: { x: [0, 1], y: 2 }, data: bins,
      itemStyle: { color: theme.accent },
      renderItem: (_: Any, api: Any) => {
        const [left, top] = api.coord([Math.max(leastNs, api.value(0)), Math.max(floor, api.value(2))]);
        const [right, bottom] = api.coord([Math.max(leastNs, api.value(1)), floor]);
        const number = api.value(3);
        const captured = (kernel.clusters[number]?.captured ?? 0) > 0;
        return { type: "rect", shape: { x: left, y: top, width: Math.max(1, right - left - 0.5),
          height: Math.max(1, bottom - top) }, style: { fill: number < 0 ? theme.rest : !captured ? theme.care
          : number % 2 === 0 ? theme.accent : theme.second, opacity: made ? 0.9 : 0.45 } };
      },
      markLine: { silent: true, symbol: "none", animation: false, label: { show: false },
        lineStyle: { color: theme.quiet, type: [3, 3], width: 1 },
        data: edges.map((ns) => ({ xAxis: Math.max(leastNs, ns) })) } },
    { name: "samples", type: "scatter", xAxisIndex: 1, yAxisIndex: 1, symbol: "triangle", symbolSize: 11,
      itemStyle: { opacity: 1, color: theme.ink, borderColor: theme.surface, borderWidth: 1 }, data: samples }] };
}
