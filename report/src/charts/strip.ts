// SPDX-License-Identifier: Apache-2.0
//
// The whole run as a strip for each device: how busy it was in each slice of the time, and when the samples ran.

import type { EChartsCoreOption } from "echarts/core";
import { count, duration, percent, tidy } from "../format";
import type { Activity, Kernel, Model } from "../model";
import { mixed, type Theme } from "../theme";
import { whole, type View } from "../zoom";
import { activityPoints, rangeOfRun, type ActivityPoint } from "./activity";
import { axis, base, cutText, plotLeft, plotRight, tip, type Any } from "./common";

export interface StripSlice extends ActivityPoint {
  samples: number;
  shares: number[]; // busy share of each row
}

export interface Strip {
  first: number; // the first start and the last end of a kernel, in ns since the first slice
  last: number;
  rows: string[]; // devices, or one row for all of them
  slices: StripSlice[];
  samples: number[]; // ns since the first slice, ascending
}

// Returns the number of launches before each slice. Activity counts every launch that has an index.
function launchesBefore(activity: Activity): number[] {
  let before = 0;
  return activity.slices.map(({ launches }) => (before += launches) - launches);
}

// Returns when a launch began, in ns since the first slice, if the launches of a slice are spread evenly.
function timeOfLaunch(activity: Activity, before: number[], index: number): number {
  let low = 0;
  let high = before.length;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (before[middle]! <= index) low = middle;
    else high = middle;
  }
  const part = (index - before[low]! + 0.5) / Math.max(1, activity.slices[low]!.launches);
  return (low + Math.min(1, part)) * activity.width;
}

// Returns when the samples of the plan ran, ascending. Their captures have times, unless they were made in another way or
// are left out of this page.
export function sampleTimes(model: Model): number[] {
  const { activity } = model;
  if (!activity) return [];
  const captured = new Map<number, number>();
  for (const [kind, index, , , , time] of model.events) {
    if (kind === "capture" && typeof time === "number") captured.set(index, time - activity.start);
  }
  const before = launchesBefore(activity);
  const end = activity.width * activity.slices.length;
  const indexes = model.data.plan ? model.samples.map(({ sample }) => sample.index)
    : model.events.filter(([kind]) => kind === "capture").map(([, index]) => index);
  return indexes.map((index) => captured.get(index) ?? timeOfLaunch(activity, before, index))
    .filter((time) => time >= 0 && time <= end).sort((a, b) => a - b);
}

export function stripOf(model: Model): Strip | null {
  if (!model.activity) return null;
  const [first, last] = rangeOfRun(model, model.activity);
  const samples = sampleTimes(model);
  const devices = model.activity.byDevice;
  let at = 0;
  const slices = activityPoints(model).map((point, i): StripSlice => {
    const begin = at;
    while (at < samples.length && samples[at]! < point.to) ++at;
    const [from, to] = [Math.max(first, point.from), Math.min(last, point.to)];
    const shares = devices.map(({ busy }) => Math.min(1, busy[i]! / Math.max(1, to - from)));
    return { ...point, from, to, samples: at - begin, shares: devices.length > 0 ? shares : [point.busy] };
  }).filter(({ from, to }) => to > from);
  return { first, last, rows: devices.length > 0 ? devices.map(({ label }) => label) : ["busy"], slices, samples };
}

const maxNamed = 3; // kernels in a tip

// Returns the kernels that took the most time between `from` and `to` (ns since the first slice of the activity), with
// their shares of the kernel time. Kernels have wider slices than the activity.
export function longestDuring(model: Model, from: number, to: number): [kernel: Kernel, share: number][] {
  const { slices, activity } = model;
  if (!slices || !activity) return [];
  const offset = slices.start - activity.start;
  const first = Math.floor((from - offset) / slices.width);
  const last = Math.max(first, Math.ceil((to - offset) / slices.width) - 1);
  const times = model.kernels.map((kernel): [Kernel, number] => [kernel, kernel.slices.reduce((sum, [slice, , ns]) =>
    (slice >= first && slice <= last ? sum + ns : sum), 0)]);
  const all = times.reduce((sum, [, ns]) => sum + ns, 0);
  return times.filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]).slice(0, maxNamed).map(([kernel, ns]) => [kernel, ns / all]);
}

export function stripPart({ first, last }: Strip, view: View): string {
  const at = (share: number) => duration(share * (last - first));
  return `${at(view.from)} to ${at(view.to)}`;
}

const maxTicks = 600; // more would overlap

// Counts the samples in equal parts of the range. Returns [middle, samples].
function ticksOf({ samples }: Strip, from: number, to: number): [number, number][] {
  const ticks = new Map<number, number>();
  const width = (to - from) / maxTicks;
  for (const time of samples) {
    if (time < from || time > to || !(width > 0)) continue;
    const part = Math.min(maxTicks - 1, Math.floor((time - from) / width));
    ticks.set(part, (ticks.get(part) ?? 0) + 1);
  }
  return [...ticks].map(([part, n]) => [from + (part + 0.5) * width, n]);
}

// Returns the color of a slice. A slice that is hardly busy differs from one that is idle.
export const shade = (theme: Theme, busy: number) =>
  mixed(theme.line, theme.accent, busy > 0 ? 0.12 + 0.88 * Math.min(1, busy) : 0);

const rowHeight = 34; // px
export const stripHeight = ({ rows }: Strip) => (rows.length + 1) * rowHeight + 50; // px

export function stripOption(model: Model, strip: Strip, theme: Theme, view: View = whole): EChartsCoreOption {
  const length = strip.last - strip.first;
  // Positions are relative to the first kernel.
  const [from, to] = [view.from * length, view.to * length];
  const slices = strip.slices.filter((slice) => slice.to - strip.first >= from && slice.from - strip.first <= to);
  const rows = strip.rows.length;
  const cells = slices.flatMap((slice) => slice.shares.map((busy, row) => ({ slice, busy, row })));
  const ticks = ticksOf(strip, strip.first + from, strip.first + to);
  const clipped = (ns: number) => Math.min(to, Math.max(from, ns - strip.first));
  const drawSlice = (p: Any, api: Any) => {
    const cell = cells[p.dataIndex];
    if (!cell) return null;
    // Whole pixels, because adjacent edges within a pixel would show as lines.
    const [left, middle] = api.coord([clipped(cell.slice.from), cell.row]).map(Math.round);
    const right = Math.round(api.coord([clipped(cell.slice.to), cell.row])[0]);
    return { type: "rect", shape: { x: left, y: middle - 14, width: right - left, height: 28 }, style: { fill: shade(theme, cell.busy) } };
  };
  const drawTick = (p: Any, api: Any) => {
    const [x, y] = api.coord([api.value(0), rows]);
    const height = Math.min(22, 12 + 2 * Math.log2(ticks[p.dataIndex]?.[1] ?? 1));
    return { type: "rect", shape: { x: x - 0.75, y: y - height / 2, width: 1.5, height }, style: { fill: theme.ink } };
  };
  const series = (name: string, data: Any[], renderItem: Any) => ({ name, type: "custom", clip: true, encode: { x: 0, y: 1 }, data, renderItem });
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "item", formatter: (p: Any) => (p.seriesName === "samples"
      ? tip(duration(p.value[0]), [["samples", count(ticks[p.dataIndex]?.[1])]])
      : sliceTip(model, strip, cells[p.dataIndex])) },
    grid: { left: plotLeft, right: plotRight, top: 4, bottom: 46, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "value", min: from, max: to > from ? to : 1, splitLine: { show: false },
      name: "time since the first kernel began", nameLocation: "middle", nameGap: 26,
      axisLabel: { showMaxLabel: false, showMinLabel: from === 0, formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns, 6))) } }),
    yAxis: { type: "category", inverse: true, data: [...strip.rows, "samples"], axisLine: { show: false }, axisTick: { show: false },
      axisLabel: { interval: 0, color: theme.ink, fontSize: 12 } },
    series: [series("busy", cells.map(({ slice, row }) => [slice.from - strip.first, row]), drawSlice),
      series("samples", ticks.map(([time]) => [time - strip.first, rows]), drawTick)] };
}

function sliceTip(model: Model, strip: Strip, cell: { slice: StripSlice; busy: number; row: number } | undefined): HTMLElement | string {
  if (!cell) return "";
  const { slice, busy, row } = cell;
  const longest = longestDuring(model, slice.from, slice.to);
  return tip(`${duration(slice.from - strip.first)} to ${duration(slice.to - strip.first)}`, [[strip.rows.length > 1 ? `busy, ${strip.rows[row]!}` : "busy", percent(busy)],
    ["launches", count(slice.launches)], ["samples", count(slice.samples)],
    ...longest.map(([kernel, share]): [string, string] => [percent(share), cutText(kernel.short, 44)])]);
}
