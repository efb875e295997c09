// SPDX-License-Identifier: Apache-2.0
//
// The kernels that changed most: the difference of their times, and the change of their means with an interval.

import type { EChartsCoreOption } from "echarts/core";
import { hasShapePart, intervalText, meanA, meanB, verdictText, type Change } from "../changes";
import { count, duration, durationChange, percentChange, tidy } from "../format";
import { cutNames } from "../labels";
import type { Theme } from "../theme";
import type { DiffVerdict } from "../types";
import { axis, base, cutText, evenTicks, font, tip, wideGlyph, type Any } from "./common";

export const rowHeight = 24; // px
const numberWidth = 84; // px; a difference to the left of its bar
const verdictWidth = 126; // px

function colorOf(theme: Theme, verdict: DiffVerdict): string {
  return { slower: theme.bad, faster: theme.series[2]!, new: theme.accent, gone: theme.rest, unclear: theme.quiet,
    same: theme.quiet }[verdict];
}

// A filled mark is a real change; an outline may be chance.
function markStyle(theme: Theme, { diff }: Change): Any {
  const color = colorOf(theme, diff.verdict);
  const isOpen = diff.verdict === "same" || diff.verdict === "unclear";
  return { fill: isOpen ? theme.surface : color, stroke: color, lineWidth: 1.5 };
}

export function changeRows(change: Change): [string, string][] {
  const { diff: k } = change;
  return [["verdict", verdictText(change)], ["change of the mean", percentChange(k.change)], ["interval", intervalText(change)],
    ["B − A", durationChange(change.time)], ["by launches", durationChange(k.by_launches_ns)],
    ...(hasShapePart(k) ? [["by shapes", durationChange(k.by_shapes_ns)] as [string, string]] : []),
    ["by duration", durationChange(k.by_duration_ns)], ["launches", `${count(k.launches_a)} → ${count(k.launches_b)}`],
    ["mean", `${duration(meanA(k))} → ${duration(meanB(k))}`]];
}

// Returns the range of the axis of changes, as ratios. It contains all changes that have an interval and the band of the
// threshold. Much wider intervals are cut.
export function ratioRange(changes: Change[], threshold: number): [number, number] {
  const known = changes.map(({ diff }) => diff).filter((k) => k.lower !== null && k.upper !== null);
  const band = Math.log1p(2 * threshold || 0.01);
  const most = 1.5 * Math.max(band, ...known.map((k) => Math.abs(Math.log1p(k.change!))));
  return [Math.exp(Math.max(-most, Math.min(-band, ...known.map((k) => Math.log1p(k.lower!))))),
    Math.exp(Math.min(most, Math.max(band, ...known.map((k) => Math.log1p(k.upper!)))))];
}

// Returns round values of changes, as ratios.
function ratioTicks(low: number, high: number, wanted: number): number[] {
  const factor = high / low;
  if (factor < 6) return evenTicks(low - 1, high - 1, wanted).map((change) => 1 + change);
  const decades = [0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000, 10_000];
  return [...decades, ...(factor < 100 ? [0.5, 2] : [])].filter((ratio) => ratio >= low && ratio <= high);
}

// Draws the difference, the part by duration in it, and the difference as a number to the left of the panel.
function drawDifference(p: Any, api: Any, theme: Theme, change: Change, text: string): Any {
  const x = (value: number) => api.coord([value, api.value(1)])[0] as number;
  const y = api.coord([0, api.value(1)])[1] as number;
  const bar = (value: number, height: number, style: Any) => ({ type: "rect", style,
    shape: { x: Math.min(x(0), x(value)), y: y - height / 2, width: Math.abs(x(value) - x(0)), height } });
  const { by_duration_ns: part, verdict } = change.diff;
  const isAbsent = verdict === "new" || verdict === "gone";
  return { type: "group", children: [
    bar(change.time, 16, { fill: isAbsent ? colorOf(theme, verdict) : theme.axis, opacity: isAbsent ? 0.55 : 0.3 }),
    ...(isAbsent ? [] : [bar(part, 7, markStyle(theme, change))]),
    { type: "text", style: { text, x: p.coordSys.x - 8, y, align: "right", verticalAlign: "middle", fill: theme.ink, font: `12px ${font}` } }] };
}

// Draws an interval and its middle. If the axis cuts an end, draws an arrow.
function drawInterval(api: Any, theme: Theme, change: Change, [low, high]: [number, number]): Any {
  const { change: middle, lower, upper } = change.diff;
  if (middle === null || 1 + middle < low || 1 + middle > high) return null;
  const x = (ratio: number) => api.coord([ratio, api.value(1)])[0] as number;
  const y = api.coord([1, api.value(1)])[1] as number;
  const style = markStyle(theme, change);
  const end = (ratio: number, limit: number, out: number) => (ratio * out > limit * out
    ? `M${x(limit) - 4 * out},${y - 4}L${x(limit)},${y}L${x(limit) - 4 * out},${y + 4}` : `M${x(ratio)},${y - 4}V${y + 4}`);
  const line = lower !== null && upper !== null && { type: "path", style: { ...style, fill: "none" }, shape: {
    pathData: `M${x(Math.max(low, 1 + lower))},${y}H${x(Math.min(high, 1 + upper))}` + end(1 + lower, low, -1) + end(1 + upper, high, 1) } };
  return { type: "group", children: [...(line ? [line] : []), { type: "circle", shape: { cx: x(1 + middle), cy: y, r: 3.5 }, style }] };
}

export function changesOption(changes: Change[], threshold: number, theme: Theme, width: number): EChartsCoreOption {
  const wide = width >= 620; // otherwise, there is no room for the intervals
  const names = Math.round(Math.min(380, Math.max(110, width * (wide ? 0.28 : 0.4))));
  const gap = 24;
  const first = names + 10 + numberWidth;
  const panel = wide ? (width - first - verdictWidth - gap) / 2 : width - first - 14;
  const left = [first, first + panel + gap];
  const shortened = cutNames(changes.map((change) => change.short), Math.floor(names / wideGlyph));
  const values = changes.flatMap(({ time, diff }) => [time, diff.by_duration_ns]);
  const times = [Math.min(0, ...values), Math.max(0, ...values) || 1] as const;
  const wanted = Math.max(2.5, panel / 70); // number of ticks
  const ratios = ratioRange(changes, threshold);
  const verdict = ({ diff }: Change) => diff.verdict + (diff.change === null ? "" : ` ${percentChange(diff.change)}`);
  const narrowMark = ({ diff }: Change) => (wide ? "" : { slower: "▲ ", faster: "▼ " }[diff.verdict as string] ?? "");
  const valueAxis = (i: number, ticks: number[], more: Any, formatter: (value: number) => string) => axis(theme, { ...more,
    gridIndex: i, splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: theme.line } },
    axisTick: { customValues: ticks, lineStyle: { color: theme.axis } },
    axisLabel: { customValues: ticks, formatter: (value: number) => tidy(formatter(value)) } });
  const rowAxis = (i: number, more: Any) => ({ type: "category", gridIndex: i, inverse: true,
    data: changes.map((_, row) => String(row)), axisLine: { show: false }, axisTick: { show: false }, ...more });
  const series = (i: number, name: string, value: (change: Change) => number | null, draw: (p: Any, api: Any, change: Change) => Any, more: Any) => ({
    name, type: "custom", xAxisIndex: i, yAxisIndex: i, encode: { x: 0, y: 1 },
    data: changes.map((change, row) => ({ value: [value(change), row], kernel: change.kernel?.id ?? null })),
    renderItem: (p: Any, api: Any) => (changes[p.dataIndex] ? draw(p, api, changes[p.dataIndex]!) : null),
    markLine: { silent: true, symbol: "none", animation: false, label: { show: false }, data: [{ xAxis: i }],
      lineStyle: { color: theme.axis, type: "solid", width: 1 } }, ...more });
  const panels = [
    { title: wide ? "B − A" : "B − A (▲ slower, ▼ faster)",
      x: valueAxis(0, evenTicks(...times, wanted), { type: "value", min: times[0], max: times[1] },
        (ns) => (ns === 0 ? "0" : durationChange(ns))),
      y: rowAxis(0, { offset: numberWidth, axisLabel: { interval: 0, width: names, overflow: "truncate", ellipsis: "…",
        color: theme.ink, fontSize: 12, formatter: (row: string) => shortened[Number(row)] ?? "" } }),
      series: series(0, "difference", (change) => change.time,
        (p, api, change) => drawDifference(p, api, theme, change, narrowMark(change) + durationChange(change.time)), {}) },
    { title: "change of the mean",
      x: valueAxis(1, ratioTicks(...ratios, Math.max(4, wanted)), { type: "log", min: ratios[0], max: ratios[1] },
        (ratio) => (ratio === 1 ? "0" : percentChange(ratio - 1))),
      y: rowAxis(1, { position: "right", axisLabel: { interval: 0, fontSize: 12,
        color: (_: string, row: number) => colorOf(theme, changes[row]?.diff.verdict ?? "same"),
        formatter: (row: string) => (changes[Number(row)] ? verdict(changes[Number(row)]!) : "") } }),
      series: series(1, "interval", ({ diff }) => (diff.change === null ? null : 1 + diff.change),
        (_, api, change) => drawInterval(api, theme, change, ratios), { markArea: { silent: true, animation: false,
          itemStyle: { color: theme.axis, opacity: 0.18 }, data: [[{ xAxis: 1 - threshold }, { xAxis: 1 + threshold }]] } }) },
  ].slice(0, wide ? 2 : 1);
  return { ...base(theme),
    axisPointer: { link: [{ yAxisIndex: "all" }] },
    tooltip: { ...base(theme).tooltip, trigger: "axis", axisPointer: { type: "shadow" }, formatter: (p: Any) => {
      const change = changes[p[0]?.dataIndex];
      return change ? tip(cutText(change.label, 300), changeRows(change)) : "";
    } },
    title: panels.map(({ title }, i) => ({ text: title, left: i === 0 ? first - numberWidth : left[i], top: 2, padding: 0, textStyle: { fontSize: 12, fontWeight: 600,
      color: theme.quiet, fontFamily: font } })),
    grid: panels.map((_, i) => ({ left: left[i], width: panel, top: 22, bottom: 22, outerBoundsMode: "none" })),
    xAxis: panels.map(({ x }) => x), yAxis: panels.map(({ y }) => y), series: panels.map(({ series: own }) => own) };
}
