// SPDX-License-Identifier: Apache-2.0
//
// What each chart shows, as an option of ECharts. Pure: from the model and a theme. Whatever text comes from data
// goes through plain functions into canvas text, or into elements as text nodes (tips); ECharts never gets HTML of it.

import type { EChartsCoreOption } from "echarts/core";
import { h } from "./dom";
import { count, duration, none, percent, tidy, times, visible } from "./format";
import { binEvents, clusterOf, driftOf, elapsedAt, eventKinds, topParts, type Kernel, type Model } from "./model";
import { colourOf, type Theme } from "./theme";
import type { Evaluation } from "./types";

const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
export const topCount = 30;

// ECharts' own types ask for more than they give where options are put together from parts.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any;

function tip(title: string, rows: [string, string][]): HTMLElement {
  return h("div", { class: "tip" }, title !== "" && h("strong", null, title),
    h("dl", null, ...rows.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)])));
}

function base(theme: Theme): Any {
  return { animation: false, textStyle: { fontFamily: font, color: theme.ink, fontSize: 12 },
    backgroundColor: "transparent",
    tooltip: { backgroundColor: theme.surface, borderColor: theme.axis, borderWidth: 1, padding: 0, confine: true,
      transitionDuration: 0, textStyle: { color: theme.ink, fontFamily: font, fontSize: 12 },
      extraCssText: "box-shadow: 0 2px 10px rgba(0,0,0,.25); max-width: min(420px, 90vw); white-space: normal;" } };
}

function axis(theme: Theme, more: Any): Any {
  const { axisLabel, ...rest } = more;
  return { nameTextStyle: { color: theme.quiet, fontSize: 12 }, axisLine: { lineStyle: { color: theme.axis } },
    axisTick: { lineStyle: { color: theme.axis } }, splitLine: { lineStyle: { color: theme.line } },
    minorSplitLine: { show: false }, axisLabel: { color: theme.quiet, fontSize: 12, hideOverlap: true, ...axisLabel },
    ...rest };
}

function cutText(text: string, most: number): string {
  const parts = [...text];
  return parts.length > most ? parts.slice(0, most - 1).join("") + "…" : text;
}

// What stands at the end may be all that tells a kernel from the next.
export function cutMiddle(text: string, most: number): string {
  const parts = [...text];
  if (parts.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.55);
  return parts.slice(0, head).join("") + "…" + parts.slice(parts.length - (most - 1 - head)).join("");
}

// The last two of the names that a name is made of: namespaces before them take room and say little.
export function chartName(label: string): string {
  const end = label.search(/[<( ]/);
  const head = (end < 0 ? label : label.slice(0, end)).split("::");
  return head.slice(-2).join("::") + (end < 0 ? "" : label.slice(end));
}

const glyph = 6.6; // px of a letter, about

const shown = (kernel: Kernel | null, label: string) => cutText(kernel?.label ?? label, 300);

function partTip(model: Model, part: { kernel: Kernel | null; label: string; duration: number; invocations: number }) {
  const rows: [string, string][] = [["time", `${duration(part.duration)}, ` +
    percent(model.duration > 0 ? part.duration / model.duration : null)], ["launches", count(part.invocations)],
    ["mean", duration(part.invocations > 0 ? part.duration / part.invocations : null)]];
  if (part.kernel) {
    rows.push(["clusters", count(part.kernel.clusters.length)], ["samples", count(part.kernel.captured)]);
  }
  return tip(shown(part.kernel, part.label), rows);
}

export function treemapOption(model: Model, theme: Theme): EChartsCoreOption {
  const parts = topParts(model, topCount).filter((part) => part.duration > 0);
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, formatter: (p: Any) => {
      const part = parts[p.data?.part];
      return part ? partTip(model, part) : "";
    } },
    series: [{ type: "treemap", roam: false, nodeClick: false, breadcrumb: { show: false }, left: 0, right: 0, top: 0,
      bottom: 0, squareRatio: 1.4, sort: false, visibleMin: 0,
      itemStyle: { borderColor: theme.surface, borderWidth: 1, gapWidth: 1 },
      label: { position: "insideTopLeft", padding: [4, 5], fontSize: 12, lineHeight: 15, color: theme.on,
        overflow: "truncate", ellipsis: "…", formatter: (p: Any) => {
          const part = parts[p.data?.part];
          return part ? `${cutText(chartName(part.label), 120)}\n${percent(part.duration / (model.duration || 1))}` : "";
        } },
      emphasis: { itemStyle: { borderColor: theme.focus, borderWidth: 2 }, label: { color: theme.on } },
      data: parts.map((part, i) => ({ name: `part ${i}`, value: part.duration, part: i, kernel: part.kernel?.id ?? null,
        itemStyle: { color: colourOf(theme, part.kernel?.rank ?? null) } })) }] };
}

export function barsOption(model: Model, theme: Theme, width: number): EChartsCoreOption {
  const parts = topParts(model, topCount);
  const names = Math.round(Math.min(420, Math.max(110, width * 0.42)));
  const share = (part: { duration: number } | undefined) =>
    percent(model.duration > 0 && part ? part.duration / model.duration : null);
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "axis", axisPointer: { type: "shadow" }, formatter: (p: Any) => {
      const part = parts[p[0]?.dataIndex];
      return part ? partTip(model, part) : "";
    } },
    grid: { left: names + 10, right: 62, top: 2, bottom: 22, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "value", splitNumber: width < 500 ? 2 : 4,
      axisLabel: { formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns))) } }),
    yAxis: { type: "category", inverse: true, data: parts.map((_, i) => String(i)), axisLine: { show: false },
      axisTick: { show: false }, triggerEvent: true, axisLabel: { interval: 0, width: names, overflow: "truncate",
        ellipsis: "…", color: theme.ink, fontSize: 12, formatter: (i: string) => cutMiddle(chartName(parts[Number(i)]?.label ?? ""), Math.floor(names / glyph)) } },
    series: [{ name: "time", type: "bar", barCategoryGap: 5, data: parts.map((part, i) => ({ value: part.duration, part: i,
      kernel: part.kernel?.id ?? null, itemStyle: { color: colourOf(theme, part.kernel?.rank ?? null) } })),
      label: { show: true, position: "right", color: theme.quiet, fontSize: 12,
        formatter: (p: Any) => share(parts[p.dataIndex]) } }] };
}

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

// Round values for a log axis that may span a factor of 1.1 or of a million.
export function ticksBetween(low: number, high: number): number[] {
  if (!(low > 0) || !(high > low)) return [];
  const decades = Math.log10(high / low);
  const steps = decades > 4 ? [1] : decades > 2 ? [1, 3] : decades > 1 ? [1, 2, 5]
    : decades > 0.5 ? [1, 1.5, 2, 3, 5, 7] : null;
  const out: number[] = [];
  if (steps) {
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) {
      for (const step of steps) out.push(step * 10 ** e);
    }
  } else {
    const raw = (high - low) / 5;
    const size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((s) => s * size >= raw)! * size;
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) out.push(value);
  }
  return out.map((value) => Number(value.toPrecision(6))).filter((value) => value >= low && value <= high);
}

export function compact(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${Number((value / 1e9).toPrecision(3))} G`;
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))} k`;
  return count(value);
}

export type TimelineAxis = "time" | "launches";
const eventParts = 160;
export const eventNames = ["capture", "close", "reopen", "top up"];

export function timelineOption(model: Model, theme: Theme, by: TimelineAxis): EChartsCoreOption {
  const points = model.timeline;
  const x = (p: { elapsed: number; observed: number }) => (by === "time" ? p.elapsed : p.observed);
  const end = Math.max(points.length > 0 ? x(points.at(-1)!) : 0, by === "launches" ? model.invocations : 0);
  const events = binEvents(model.events, by === "time" ? (i) => elapsedAt(points, i) ?? 0 : (i) => i, end, eventParts);
  const eventsShown = by === "launches" || points.length > 0;
  const seconds = (s: number) => (s === 0 ? "0" : tidy(duration(s * 1e9)));
  const last = 3;
  const panels = [["launches observed", "GPU time observed"][by === "time" ? 0 : 1]!, "captures (dashed: clusters still open)",
    "bound (log)", "decisions"];
  const tops = [26, 122, 218, 344];
  const heights = [62, 62, 92, 74];
  const bounds = points.map((p) => p.bound).filter((b): b is number => b !== null && b > 0);
  const highBound = Math.max(1, ...bounds);
  const boundTicks = ticksBetween(lowBound(bounds, model.asked), highBound * 1.0001);
  const line = (panel: number, name: string, of: (p: (typeof points)[number]) => number | null, colour: string,
    more: Any = {}) => ({ name, type: "line", xAxisIndex: panel, yAxisIndex: panel, showSymbol: points.length < 2,
    symbolSize: 5, lineStyle: { width: 1.75, color: colour }, itemStyle: { color: colour },
    data: points.map((p) => [x(p), of(p)]), ...more });
  return { ...base(theme),
    axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: theme.axis } },
    tooltip: { ...base(theme).tooltip, trigger: "axis", formatter: (list: Any) => {
      const at = list[0]?.axisValue as number;
      const rows: [string, string][] = [];
      for (const p of list as Any[]) {
        const value = p.value[1] as number | null;
        if (p.seriesName === "decisions") rows.push([eventNames[value ?? 0] ?? "", count(p.value[2])]);
        else if (p.seriesName === "bound") rows.push(["bound", percent(value)]);
        else rows.push([p.seriesName, p.seriesName === "GPU time observed" ? duration(value) : count(value)]);
      }
      return tip(by === "time" ? seconds(at) : `launch ${count(at)}`, rows);
    } },
    title: panels.map((text, i) => ({ text, left: 64, top: tops[i]! - 20, textStyle: { fontSize: 12, fontWeight: 600,
      color: theme.quiet, fontFamily: font } })),
    grid: tops.map((top, i) => ({ left: 64, right: 18, top, height: heights[i], outerBoundsMode: "none" })),
    xAxis: panels.map((_, i) => axis(theme, { type: "value", gridIndex: i, min: 0, max: end > 0 ? end : 1,
      splitLine: { show: false }, axisLabel: { show: i === last, showMaxLabel: false,
        formatter: (v: number) => (by === "time" ? seconds(v) : compact(v)) }, axisTick: { show: i === last },
      ...(i === last ? { name: by === "time" ? "time since the session began" : "launches", nameLocation: "middle",
        nameGap: 26 } : {}) })),
    yAxis: panels.map((_, i) => axis(theme, i === 2
      ? { type: "log", gridIndex: i, min: lowBound(bounds, model.asked), max: highBound, splitLine: { show: false },
        axisTick: { customValues: boundTicks, lineStyle: { color: theme.axis } }, axisLabel: { customValues: boundTicks, formatter: (v: number) => tidy(percent(v)) } }
      : i === last ? { type: "category", gridIndex: i, data: eventNames, inverse: true, splitLine: { show: true,
        lineStyle: { color: theme.line } }, axisTick: { show: false } }
      : { type: "value", gridIndex: i, min: 0, splitNumber: 2, axisLabel: {
        formatter: i === 0 && by === "launches" ? (v: number) => tidy(duration(v)) : compact } })),
    series: [
      by === "time" ? line(0, "launches observed", (p) => p.observed, theme.series[0]!)
        : line(0, "GPU time observed", (p) => p.duration, theme.series[0]!),
      line(1, "captures", (p) => p.captured, theme.series[2]!, { step: "end" }),
      line(1, "clusters open", (p) => p.open, theme.series[1]!, { step: "end", lineStyle: { width: 1.5, type: [4, 3],
        color: theme.series[1]! } }),
      line(2, "bound", (p) => (p.bound !== null && p.bound > 0 ? p.bound : null), theme.series[3]!, {
        markLine: { silent: true, symbol: "none", animation: false, lineStyle: { color: theme.bad, type: [5, 4] },
          label: { position: "insideEndTop", color: theme.bad, fontSize: 12,
            formatter: () => `asked ${tidy(percent(model.asked))}` },
          data: model.asked !== null && model.asked > 0 ? [{ yAxis: model.asked }] : [] } }),
      { name: "decisions", type: "scatter", xAxisIndex: last, yAxisIndex: last, symbol: "rect",
        symbolSize: (v: number[]) => [4, Math.min(16, 5 + 3 * Math.log2(v[2] ?? 1))],
        itemStyle: { opacity: 1, color: (p: Any) => [theme.series[2], theme.quiet, theme.series[1], theme.bad][p.value[1]] },
        data: eventsShown ? events : [] }] };
}

function lowBound(bounds: number[], asked: number | null): number {
  const least = Math.min(...bounds, asked !== null && asked > 0 ? asked : 1, 1);
  return least / 1.6;
}

const driftLines = 6;

export function driftKernels(model: Model, chosen: Kernel | null): Kernel[] {
  const top = model.byTime.slice(0, driftLines);
  return chosen && !top.includes(chosen) ? [...top, chosen] : top;
}

export function driftOption(model: Model, chosen: Kernel | null, theme: Theme): EChartsCoreOption {
  const slices = model.slices ?? { width: 1, count: 0 };
  const kernels = driftKernels(model, chosen);
  const at = (slice: number) => ((slice + 0.5) * slices.width);
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "axis", formatter: (list: Any) => {
      const slice = list[0]?.dataIndex ?? 0;
      return tip(`${duration(slice * slices.width)} to ${duration((slice + 1) * slices.width)}`,
        (list as Any[]).map((p): [string, string] => [cutText(kernels[p.seriesIndex]?.short ?? "", 60),
          times(p.value[1])]));
    } },
    grid: { left: 64, right: 18, top: 22, bottom: 44, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "value", min: 0, max: slices.width * slices.count || 1, splitLine: { show: false },
      name: "time since the first launch", nameLocation: "middle", nameGap: 26,
      axisLabel: { showMaxLabel: false, formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns))) } }),
    yAxis: axis(theme, { type: "value", scale: true, name: "mean of slice / mean", nameLocation: "end", nameGap: 8,
      nameTextStyle: { color: theme.quiet, fontSize: 12, align: "left", padding: [0, 0, 0, -56] },
      axisLabel: { formatter: (v: number) => tidy(times(v)) } }),
    series: kernels.map((kernel) => {
      const colour = colourOf(theme, kernel.rank);
      const isChosen = kernel === chosen;
      return { name: `kernel ${kernel.id}`, kernel: kernel.id, type: "line", showSymbol: false, z: isChosen ? 5 : 2,
        lineStyle: { width: isChosen ? 3 : 1.25, color: isChosen && kernel.rank >= theme.series.length ? theme.ink : colour,
          opacity: isChosen ? 1 : 0.75 }, itemStyle: { color: colour },
        data: driftOf(kernel, slices.count).map((ratio, slice) => [at(slice), ratio]),
        markLine: kernel === kernels[0] ? { silent: true, symbol: "none", animation: false, label: { show: false },
          lineStyle: { color: theme.axis, type: "solid" }, data: [{ yAxis: 1 }] } : undefined };
    }) };
}

export interface MethodPoint {
  method: string;
  workload: string;
  asked: number | null;
  speedup: number | null;
  mean: number | null;
  high: number | null; // p95 of a workload, largest of all
  bound: number | null;
  coverage: number | null;
  samples: number | null;
}

// Points of one workload, or of all together (null).
export function methodPoints(evaluation: Evaluation, workload: string | null): MethodPoint[] {
  if (workload === null) {
    return (evaluation.summary ?? []).map((s) => ({ method: s.method, workload: "", asked: s.error_bound,
      speedup: s.speedup_harmonic, mean: s.error_mean, high: s.error_max, bound: null, coverage: s.coverage ?? null,
      samples: null }));
  }
  return (evaluation.rows ?? []).filter((r) => r.workload === workload).map((r) => ({ method: r.method,
    workload: r.workload, asked: r.error_bound, speedup: r.speedup, mean: r.error?.mean ?? null,
    high: r.error?.p95 ?? null, bound: r.bound ?? null, coverage: r.coverage ?? null, samples: r.samples ?? null }));
}

// How far (px, up is negative) each label moves so that none covers another: boxes are placed from the left, each at the
// first free place beside its point. The points themselves stay uncovered too.
export function placeLabels(boxes: { x: number; y: number; width: number }[]): number[] {
  const height = 14;
  const placed = boxes.map(({ x, y }) => ({ x: x - 14, y, width: 12 }));
  const moves = Array.from({ length: 8 }, (_, n) => 0 - n * height);
  const order = boxes.map((_, i) => i).sort((a, b) => boxes[a]!.x - boxes[b]!.x);
  const out = new Array<number>(boxes.length).fill(0);
  for (const i of order) {
    const { x, y, width } = boxes[i]!;
    const free = (move: number) => placed.every((p) => x > p.x + p.width || p.x > x + width ||
      Math.abs(y + move - p.y) >= height);
    out[i] = moves.find(free) ?? 0;
    placed.push({ x, y: y + out[i]!, width });
  }
  return out;
}

export function methodsOption(points: MethodPoint[], asked: number | null, theme: Theme, all: boolean,
    width: number): EChartsCoreOption {
  const drawn = points.filter((p) => p.speedup !== null && p.speedup > 0 && p.mean !== null);
  const names = [...new Set(points.map((p) => p.method))];
  const severalBounds = new Set(points.map((p) => p.asked)).size > 1;
  const colour = (p: MethodPoint) => theme.series[names.indexOf(p.method)] ?? theme.rest;
  const label = (p: MethodPoint) => cutText(visible(p.method), 24) + (severalBounds ? ` ${percent(p.asked)}` : "");
  const speeds = drawn.map((p) => p.speedup!);
  const low = Math.min(...speeds, Infinity) / 1.6;
  const high = Math.max(...speeds, 1) * 2.2;
  const ticks = ticksBetween(low, high);
  const top = Math.max(1e-9, ...drawn.map((p) => p.high ?? p.mean!));
  const moves = placeLabels(drawn.map((p) => ({ x: 8 + ((width - 82) * Math.log(p.speedup! / low)) / Math.log(high / low),
    y: -300 * (p.mean! / top), width: label(p).length * glyph + 14 })));
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "item", formatter: (p: Any) => {
      const point = drawn[p.dataIndex];
      if (!point) return "";
      return tip(label(point), [["speedup", times(point.speedup)], ["mean error", percent(point.mean)],
        [all ? "largest error" : "p95 error", percent(point.high)], ["bound stated", percent(point.bound)],
        ["coverage", percent(point.coverage)]]);
    } },
    grid: { left: 64, right: 18, top: 24, bottom: 46, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "log", min: low < Infinity ? low : 1, max: high, name: "speedup (log)",
      nameLocation: "middle", nameGap: 26, axisTick: { customValues: ticks, lineStyle: { color: theme.axis } },
      splitLine: { show: false }, axisLabel: { customValues: ticks, formatter: (v: number) => tidy(times(v)) } }),
    yAxis: axis(theme, { type: "value", min: 0, name: "error", nameGap: 8, axisLabel: { formatter: (v: number) => tidy(percent(v)) } }),
    series: [{ name: "spread", type: "custom", encode: { x: 0, y: [1, 2] },
      data: drawn.map((p) => [p.speedup, p.mean, p.high ?? p.mean]), renderItem: (params: Any, api: Any) => {
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        const top = api.coord([api.value(0), api.value(2)])[1];
        return { type: "path", shape: { pathData: `M${x},${y}V${top}M${x - 5},${top}H${x + 5}` },
          style: { fill: "none", stroke: colour(drawn[params.dataIndex]!), lineWidth: 1.5 } };
      },
      markLine: { silent: true, symbol: "none", animation: false, lineStyle: { color: theme.bad, type: [5, 4] },
        label: { position: "insideEndTop", color: theme.bad, fontSize: 12, formatter: () => `asked ${tidy(percent(asked))}` },
        data: asked !== null ? [{ yAxis: asked }] : [] } },
    { name: "methods", type: "scatter", symbolSize: 10, data: drawn.map((p, i) => ({ value: [p.speedup, p.mean],
      itemStyle: { color: colour(p), opacity: 1 }, label: { offset: [0, moves[i]], color: colour(p) } })),
      label: { show: true, position: "right", fontSize: 12,
        formatter: (p: Any) => (drawn[p.dataIndex] ? label(drawn[p.dataIndex]!) : "") } }] };
}
export { eventKinds };
