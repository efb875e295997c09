// SPDX-License-Identifier: Apache-2.0
//
// The session over time: launches, captures, the bound and the decisions in separate panels.

import type { EChartsCoreOption } from "echarts/core";
import { count, duration, percent, tidy } from "../format";
import type { Model, TimelinePoint } from "../model";
import type { Theme } from "../theme";
import type { MaskEvent, Triple } from "../types";
import { drawnPoints, whole, type View } from "../zoom";
import { axis, base, compact, font, plotLeft, plotRight, ticksBetween, tip, type Any } from "./common";

// Returns the time at which the collector had processed `launches` launches.
export function elapsedAt(timeline: TimelinePoint[], launches: number): number | null {
  if (timeline.length === 0) return null;
  let low = 0;
  let high = timeline.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeline[middle]!.observed < launches) low = middle + 1;
    else high = middle;
  }
  if (low === timeline.length) return timeline.at(-1)!.elapsed;
  const after = timeline[low]!;
  const before = low > 0 ? timeline[low - 1]! : { observed: 0, elapsed: 0 };
  const span = after.observed - before.observed;
  return span > 0 ? before.elapsed + ((after.elapsed - before.elapsed) * (launches - before.observed)) / span
    : after.elapsed;
}

export const eventKinds = ["capture", "close", "reopen", "top_up"] as const;

// Counts events in equal parts of an axis range. Returns [middle of the part, index of the kind, count].
export function binEvents(events: MaskEvent[], xOf: (index: number) => number, from: number, to: number,
    parts: number): Triple[] {
  const bins = new Map<number, number>();
  for (const [kind, index] of events) {
    const number = eventKinds.indexOf(kind);
    const x = xOf(index);
    if (number < 0 || !(index >= 0) || x < from || x > to) continue;
    const part = to > from ? Math.min(parts - 1, Math.floor(((x - from) / (to - from)) * parts)) : 0;
    const key = part * eventKinds.length + number;
    bins.set(key, (bins.get(key) ?? 0) + 1);
  }
  return [...bins].sort((a, b) => a[0] - b[0]).map(([key, n]) =>
    [from + ((Math.floor(key / eventKinds.length) + 0.5) / parts) * (to - from), key % eventKinds.length, n]);
}

export type TimelineAxis = "time" | "launches";
const eventParts = 160;
export const eventNames = ["capture", "close", "reopen", "top up"];

// Excluded launches have numbers but are not observed. This assumes that they are spread evenly.
function numbersPerLaunch(model: Model): number {
  return model.invocations > 0 ? model.launches / model.invocations : 1;
}

function axisEnd(model: Model, by: TimelineAxis): number {
  const last = model.timeline.at(-1);
  if (by === "time") return last?.elapsed ?? 0;
  return Math.max((last?.observed ?? 0) * numbersPerLaunch(model), model.launches);
}

const seconds = (s: number) => (s === 0 ? "0" : tidy(duration(s * 1e9, 6)));

export function timelinePart(model: Model, by: TimelineAxis, view: View): string {
  const end = axisEnd(model, by);
  return by === "time" ? `${duration(view.from * end * 1e9)} to ${duration(view.to * end * 1e9)}`
    : `launches ${count(view.from * end)} to ${count(view.to * end)}`;
}

export function timelineOption(model: Model, theme: Theme, by: TimelineAxis,
    view: View = whole): EChartsCoreOption {
  const numbers = numbersPerLaunch(model);
  const x = (p: TimelinePoint) => (by === "time" ? p.elapsed : p.observed * numbers);
  const end = axisEnd(model, by);
  const [from, to] = [view.from * end, view.to * end];
  const isPart = to - from < end;
  const points = drawnPoints(model.timeline, x, from, to);
  const events = binEvents(model.events, by === "time" ? (i) => elapsedAt(model.timeline, i / numbers) ?? 0
    : (i) => Math.min(i, end), from, to, eventParts);
  const eventsShown = by === "launches" || points.length > 0;
  const last = 3;
  const panels = [["launches observed", "GPU time observed"][by === "time" ? 0 : 1]!, "captures (dashed: clusters still open)",
    "bound (log)", "decisions"];
  const tops = [26, 122, 218, 344];
  const heights = [62, 62, 92, 74];
  const bounds = points.map((p) => p.bound).filter((b): b is number => b !== null);
  const highBound = Math.max(1, ...bounds);
  const lowBound = footOf(bounds, model.asked);
  const boundTicks = ticksBetween(lowBound, highBound * 1.0001);
  const line = (panel: number, name: string, of: (p: (typeof points)[number]) => number | null, color: string,
    more: Any = {}) => ({ name, type: "line", xAxisIndex: panel, yAxisIndex: panel, showSymbol: points.length < 2,
    symbolSize: 5, lineStyle: { width: 1.75, color }, itemStyle: { color },
    data: points.map((p) => [x(p), of(p)]), ...more });
  return { ...base(theme),
    axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: theme.axis } },
    tooltip: { ...base(theme).tooltip, trigger: "axis", formatter: (list: Any) => {
      const at = list[0]?.axisValue as number;
      return tip(by === "time" ? seconds(at) : `launch ${numbers > 1 ? "~" : ""}${count(at)}`, rowsAt(points, list));
    } },
    title: panels.map((text, i) => ({ text, left: plotLeft, top: tops[i]! - 20, textStyle: { fontSize: 12, fontWeight: 600,
      color: theme.quiet, fontFamily: font } })),
    grid: tops.map((top, i) => ({ left: plotLeft, right: plotRight, top, height: heights[i], outerBoundsMode: "none" })),
    xAxis: panels.map((_, i) => axis(theme, { type: "value", gridIndex: i, min: from, max: to > from ? to : 1,
      splitLine: { show: false }, axisLabel: { show: i === last, showMaxLabel: false, showMinLabel: from === 0,
        formatter: (v: number) => (by === "time" ? seconds(v) : isPart ? count(v) : compact(v)) }, axisTick: { show: i === last },
      ...(i === last ? { name: by === "time" ? "time since the session began" : "launches", nameLocation: "middle",
        nameGap: 26 } : {}) })),
    yAxis: panels.map((_, i) => axis(theme, i === 2
      ? { type: "log", gridIndex: i, min: lowBound, max: highBound, splitLine: { show: false },
        axisTick: { customValues: boundTicks, lineStyle: { color: theme.axis } }, axisLabel: { customValues: boundTicks, formatter: (v: number) => tidy(percent(v)) } }
      : i === last ? { type: "category", gridIndex: i, data: eventNames, inverse: true, splitLine: { show: true,
        lineStyle: { color: theme.line } }, axisTick: { show: false } }
      : { type: "value", gridIndex: i, min: isPart ? undefined : 0, scale: isPart, minInterval: 1,
        splitNumber: 2, axisLabel: { formatter: i === 0 && by === "launches" ? (v: number) => seconds(v / 1e9)
          : isPart ? count : compact } })),
    series: [
      by === "time" ? line(0, "launches observed", (p) => p.observed, theme.series[0]!)
        : line(0, "GPU time observed", (p) => p.duration, theme.series[0]!),
      line(1, "captures", (p) => p.captured, theme.series[2]!, { step: "end" }),
      line(1, "clusters open", (p) => p.open, theme.series[1]!, { step: "end", lineStyle: { width: 1.5, type: [4, 3],
        color: theme.series[1]! } }),
      line(2, "bound", (p) => (p.bound === null ? null : Math.max(lowBound, p.bound)), theme.series[3]!, {
        markLine: { silent: true, symbol: "none", animation: false, lineStyle: { color: theme.bad, type: [5, 4] },
          label: { position: "insideEndTop", color: theme.bad, fontSize: 12,
            formatter: () => `asked ${tidy(percent(model.asked))}` },
          data: model.asked !== null && model.asked > 0 ? [{ yAxis: model.asked }] : [] } }),
      { name: "decisions", type: "scatter", xAxisIndex: last, yAxisIndex: last, symbol: "rect",
        symbolSize: (v: number[]) => [4, Math.min(16, 5 + 3 * Math.log2(v[2] ?? 1))],
        itemStyle: { opacity: 1, color: (p: Any) => [theme.series[2], theme.quiet, theme.series[1], theme.bad][p.value[1]] },
        data: eventsShown ? events : [] }] };
}

// Returns the rows of the tip for the points under the pointer.
export function rowsAt(points: TimelinePoint[], places: Any[]): [string, string][] {
  return places.map((p): [string, string] => {
    if (p.seriesName === "decisions") return [eventNames[p.value[1]] ?? "", count(p.value[2])];
    // The axis limits the drawn bound; show the actual bound.
    if (p.seriesName === "bound") return ["bound", percent(points[p.dataIndex]?.bound)];
    return [p.seriesName, p.seriesName === "GPU time observed" ? duration(p.value[1]) : count(p.value[1])];
  });
}

const minBound = 1e-6; // minimum error bound of the options; smaller bounds and 0 are drawn at the lower end

function footOf(bounds: number[], asked: number | null): number {
  return Math.max(minBound, Math.min(...bounds, asked !== null && asked > 0 ? asked : 1, 1)) / 1.6;
}
