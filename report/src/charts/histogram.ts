// SPDX-License-Identifier: Apache-2.0
//
// The distribution of a kernel's durations, with its cluster boundaries and samples.

import type { EChartsCoreOption } from "echarts/core";
import { count, duration, none, number, percent, tidy } from "../format";
import { rangeOf, type Kernel } from "../model";
import type { Theme } from "../theme";
import type { PlanSample } from "../types";
import { axis, base, compact, ticksBetween, tip, type Any } from "./common";

export interface HistogramView {
  logCount: boolean;
}

// Returns the cluster that contains the middle of a bin, or -1. The last cluster may contain exploratory captures and be
// within the range of another cluster, so it is checked last.
export function clusterOf(kernel: Kernel, lower: number, upper: number): number {
  const middle = Math.floor((lower + Math.max(lower, upper - 1)) / 2);
  return kernel.clusters.findIndex((c) => middle >= c.lower && middle <= c.upper);
}

// Returns [from, to, launches, cluster] for each bin.
export function binsOf(kernel: Kernel): number[][] {
  if (kernel.histogram.length === 0) return kernel.clusters.map((c, i) => [c.lower, c.upper + 1, c.count, i]);
  return kernel.histogram.map(([from, to, n]) => [from, to, n, clusterOf(kernel, from, to)]);
}

const minNs = 0.5; // position of 0 ns on a log axis
const maxMarks = 400; // maximum number of sample marks; more would overlap

export interface SampleMark {
  first: PlanSample;
  cluster: number;
  count: number;
  from: number;
  to: number;
}

// Combines samples of a cluster whose marks would overlap on a log axis.
export function sampleMarks(kernel: Kernel): SampleMark[] {
  const samples = kernel.clusters.reduce((a, c) => a + c.samples.length, 0);
  const at = (s: PlanSample) => Math.max(minNs, s.duration_ns);
  const [low, high] = rangeOf(kernel.clusters.flatMap((c) => c.samples.map(at)));
  const scale = high > low ? (maxMarks - 1) / Math.log(high / low) : 0;
  return kernel.clusters.flatMap((c, cluster) => {
    const marks = new Map<number, SampleMark>();
    c.samples.forEach((first, i) => {
      const ns = at(first);
      const key = samples > maxMarks ? Math.round(scale * Math.log(ns / low)) : i;
      const mark = marks.get(key);
      if (!mark) {
        marks.set(key, { first, cluster, count: 1, from: ns, to: ns });
        return;
      }
      ++mark.count;
      mark.from = Math.min(mark.from, ns);
      mark.to = Math.max(mark.to, ns);
    });
    return [...marks.values()];
  });
}

function markTip({ first, cluster, count: n, from, to }: SampleMark): HTMLElement {
  if (n > 1) {
    return tip(`${count(n)} samples in cluster ${cluster + 1}`, [["durations", `${duration(from)} to ${duration(to)}`]]);
  }
  return tip(`Sample in cluster ${cluster + 1}`, [["duration", duration(first.duration_ns)],
    ["weight", number(first.weight)], ["launch", count(first.index)], ["occurrence", count(first.occurrence)],
    ...(first.imputed ? [["imputed", "mean of its context"] as [string, string]] : [])]);
}

// Returns the boundaries between clusters. If the last cluster is within the range of other clusters, it contains
// exploratory captures and has no boundary.
function edgesOf({ clusters }: Kernel): number[] {
  const last = clusters.at(-1);
  const separate = clusters.filter((c) => c !== last || clusters.every((other) => other === c || other.upper < c.lower));
  return [...new Set(separate.flatMap((c) => [c.lower, c.upper + 1]))].sort((a, b) => a - b);
}

export function histogramOption(kernel: Kernel, theme: Theme, view: HistogramView): EChartsCoreOption {
  // Without a histogram, each cluster is shown as one bar.
  const made = kernel.histogram.length > 0;
  const bins = binsOf(kernel);
  const samples = sampleMarks(kernel).map((mark) => ({ value: [Math.sqrt(mark.from * mark.to), 0], mark }));
  const edges = edgesOf(kernel);
  const [low, high] = rangeOf([...bins.flatMap((b) => [b[0]!, b[1]!]), ...edges,
    ...samples.flatMap(({ mark }) => [mark.from, mark.to])].map((ns) => Math.max(minNs, ns)));
  const most = Math.max(1, rangeOf(bins.map((b) => b[2]!))[1]);
  const floor = view.logCount ? 0.5 : 0;
  const x = { type: "log", logBase: 10, min: low < Infinity ? low / 1.03 : 1, max: high > 0 ? high * 1.03 : 10 };
  const ticks = [...(low === minNs ? [minNs] : []), ...ticksBetween(x.min, x.max).filter((ns) => ns >= 1)];
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "item", formatter: (p: Any) => {
      if (p.seriesName === "samples") return markTip(p.data.mark);
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
      axisLabel: { customValues: ticks, formatter: (ns: number) => (ns < 1 ? "0 ns" : tidy(duration(ns))) } })],
    yAxis: [axis(theme, { gridIndex: 0, type: view.logCount ? "log" : "value", min: floor, minInterval: 1,
      max: view.logCount ? most * 1.5 : undefined, name: "launches", nameLocation: "end", nameGap: 10,
      nameTextStyle: { color: theme.quiet, fontSize: 12, align: "right" }, axisLabel: { formatter: compact } }),
    { gridIndex: 1, type: "value", min: -1, max: 1, show: false }],
    series: [{ name: "launches", type: "custom", xAxisIndex: 0, yAxisIndex: 0, clip: true,
      encode: { x: [0, 1], y: 2 }, data: bins,
      itemStyle: { color: theme.accent },
      renderItem: (_: Any, api: Any) => {
        const [left, top] = api.coord([Math.max(minNs, api.value(0)), Math.max(floor, api.value(2))]);
        const [right, bottom] = api.coord([Math.max(minNs, api.value(1)), floor]);
        const cluster = api.value(3);
        const captured = (kernel.clusters[cluster]?.captured ?? 0) > 0;
        return { type: "rect", shape: { x: left, y: top, width: Math.max(1, right - left - 0.5),
          height: Math.max(1, bottom - top) }, style: { fill: cluster < 0 ? theme.rest : !captured ? theme.care
          : cluster % 2 === 0 ? theme.accent : theme.second, opacity: made ? 0.9 : 0.45 } };
      },
      markLine: { silent: true, symbol: "none", animation: false, label: { show: false },
        lineStyle: { color: theme.quiet, type: [3, 3], width: 1 },
        data: edges.map((ns) => ({ xAxis: Math.max(minNs, ns) })) } },
    { name: "samples", type: "scatter", xAxisIndex: 1, yAxisIndex: 1, symbol: "triangle", symbolSize: 11,
      itemStyle: { opacity: 1, color: theme.ink, borderColor: theme.surface, borderWidth: 1 }, data: samples }] };
}
