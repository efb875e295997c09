// SPDX-License-Identifier: Apache-2.0
//
// The activity of the GPU over the run: launches per second, and the share of time in which a kernel ran.

import type { EChartsCoreOption } from "echarts/core";
import { count, duration, number, percent, tidy } from "../format";
import type { Activity, Model } from "../model";
import type { Theme } from "../theme";
import type { SessionDevice } from "../types";
import { whole, type View } from "../zoom";
import { axis, base, compact, font, plotLeft, plotRight, tip, type Any } from "./common";

export interface ActivityPoint {
  from: number; // ns since the first slice
  to: number;
  launches: number;
  rate: number; // launches per second
  busy: number; // share of the time, mean over the devices
  load: number; // kernel time / (time and device); above 1 if kernels ran concurrently
}

// Returns the range of the recorded launches, in ns since the first slice. It starts in the first slice and ends in the
// last. Times of the recorder's clock are rounded to 256 ns, so only differences are used.
export function rangeOfRun(model: Model, activity: Activity): [number, number] {
  const devices = (model.data.session?.devices ?? []).filter((d) => typeof d.start_ns === "number");
  const end = activity.width * activity.slices.length;
  if (devices.length === 0) return [0, end];
  const starts = devices.map((d) => d.start_ns! - activity.start);
  return [Math.max(0, Math.min(...starts)), Math.min(end, Math.max(...starts.map((start, i) => start + devices[i]!.span_ns)))];
}

export function activityPoints(model: Model): ActivityPoint[] {
  const { activity } = model;
  if (!activity) return [];
  const [first, last] = rangeOfRun(model, activity);
  return activity.slices.map(({ launches, time, busy }, i) => {
    const from = i * activity.width;
    const to = from + activity.width;
    // Only the part of the slice that is within the run counts.
    const length = Math.min(to, last) - Math.max(from, first);
    const width = length > 0 ? length : activity.width;
    return { from, to, launches,
      rate: launches / (width / 1e9), busy: Math.min(1, busy / width / activity.devices), load: time / width / activity.devices };
  });
}

// Returns the ranges of consecutive slices in which no kernel ran, in ns since the first slice.
export function idleRanges(points: ActivityPoint[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const { from, to, busy } of points) {
    if (busy > 0) continue;
    const last = ranges.at(-1);
    if (last && last[1] === from) last[1] = to;
    else ranges.push([from, to]);
  }
  return ranges;
}

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

// Returns the share of the time between the first and the last kernel in which the devices were busy, or null if unknown.
export function busyShare(model: Model): number | null {
  const devices = model.data.session?.devices ?? [];
  const span = sum(devices.map((device) => device.span_ns));
  return span > 0 ? sum(devices.map((device) => device.busy_ns)) / span : null;
}

export interface IdleRow {
  lower: number;
  gaps: number;
  idle: number;
}

// Returns the gaps of all devices by length.
export function idleRows(devices: SessionDevice[]): IdleRow[] {
  const rows = new Map<number, IdleRow>();
  for (const device of devices) {
    for (const [lower, gaps, idle] of device.idle ?? []) {
      const row = rows.get(lower) ?? { lower, gaps: 0, idle: 0 };
      rows.set(lower, { lower, gaps: row.gaps + gaps, idle: row.idle + idle });
    }
  }
  return [...rows.values()].sort((a, b) => a.lower - b.lower);
}

// Returns how much the largest value exceeds the mean, or null if there is nothing to compare.
export function imbalance(values: number[]): number | null {
  const mean = sum(values) / values.length;
  return values.length > 1 && mean > 0 ? Math.max(...values) / mean - 1 : null;
}

export function activityPart(model: Model, view: View): string {
  const end = activityPoints(model).at(-1)?.to ?? 0;
  return `${duration(view.from * end)} to ${duration(view.to * end)}`;
}

export function activityOption(model: Model, theme: Theme, view: View = whole): EChartsCoreOption {
  const points = activityPoints(model);
  const end = points.at(-1)?.to ?? 0;
  const [from, to] = [view.from * end, view.to * end];
  const isConcurrent = points.some((p) => p.load > p.busy * 1.05 + 0.01); // a smaller difference would not be visible
  const shown = points.filter((p) => p.to >= from && p.from <= to);
  const devices = model.activity?.devices ?? 1;
  const panels = ["launches per second", `time in which a kernel ran${devices > 1 ? `, mean of ${devices} devices` : ""}` +
    (isConcurrent ? " (dashed: kernel time per time, above 100 % if kernels run concurrently)" : "")];
  const tops = [26, 150];
  // Each value applies until the end of its slice.
  const steps = (of: (p: ActivityPoint) => number) => [...shown.map((p) => [p.from, of(p)]),
    ...shown.slice(-1).map((p) => [p.to, of(p)])];
  const line = (panel: number, name: string, of: (p: ActivityPoint) => number, color: string, more: Any = {}) => ({ name,
    type: "line", step: "end", xAxisIndex: panel, yAxisIndex: panel, showSymbol: false, lineStyle: { width: 1.5, color },
    itemStyle: { color }, data: steps(of), ...more });
  const idle = { silent: true, animation: false, itemStyle: { color: theme.care, opacity: 0.22 },
    data: idleRanges(points).map(([a, b]) => [{ xAxis: Math.max(a, from) }, { xAxis: Math.min(b, to) }])
      .filter(([a, b]) => a!.xAxis < b!.xAxis) };
  const top = isConcurrent ? Math.max(1, ...points.map((p) => p.load)) : 1;
  return { ...base(theme),
    axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: theme.axis } },
    tooltip: { ...base(theme).tooltip, trigger: "axis", formatter: (list: Any) => {
      const at = list[0]?.axisValue as number;
      const point = points.find((p) => at >= p.from && at < p.to) ?? points.at(-1);
      return point ? tip(`${duration(point.from)} to ${duration(point.to)}`, tipRows(point)) : "";
    } },
    title: panels.map((text, i) => ({ text, left: plotLeft, top: tops[i]! - 20, textStyle: { fontSize: 12, fontWeight: 600,
      color: theme.quiet, fontFamily: font, overflow: "truncate" } })),
    grid: tops.map((y) => ({ left: plotLeft, right: plotRight, top: y, height: 90, outerBoundsMode: "none" })),
    xAxis: panels.map((_, i) => axis(theme, { type: "value", gridIndex: i, min: from, max: to > from ? to : 1,
      splitLine: { show: false }, axisLabel: { show: i === 1, showMaxLabel: false, showMinLabel: from === 0,
        formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns, 6))) }, axisTick: { show: i === 1 },
      ...(i === 1 ? { name: "time since the first slice began", nameLocation: "middle", nameGap: 26 } : {}) })),
    yAxis: panels.map((_, i) => axis(theme, { type: "value", gridIndex: i, min: 0, max: i === 1 && top <= 1 ? 1 : undefined,
      splitNumber: 2, axisLabel: { formatter: i === 0 ? compact : (v: number) => tidy(percent(v)) } })),
    series: [line(0, "launches per second", (p) => p.rate, theme.series[0]!, { markArea: idle }),
      line(1, "busy", (p) => p.busy, theme.series[2]!, { areaStyle: { color: theme.series[2], opacity: 0.2 }, markArea: idle }),
      ...(isConcurrent ? [line(1, "kernel time", (p) => p.load, theme.series[1]!, { lineStyle: { width: 1.25, type: [4, 3],
        color: theme.series[1] } })] : [])] };
}

function tipRows(point: ActivityPoint): [string, string][] {
  return [["launches", count(point.launches)], ["per second", count(point.rate)], ["busy", percent(point.busy)],
    ["kernels at a time", point.busy > 0 ? number(point.load / point.busy, 3) : "0"]];
}
