// SPDX-License-Identifier: Apache-2.0
//
// The methods of an evaluation: their error, and how much less there is to trace.

import type { EChartsCoreOption } from "echarts/core";
import { percent, tidy, times, visible } from "../format";
import type { Theme } from "../theme";
import type { Evaluation } from "../types";
import { axis, base, cutText, glyph, plotLeft, plotRight, ticksBetween, tip, type Any } from "./common";

export interface MethodPoint {
  method: string;
  workload: string;
  asked: number | null;
  speedup: number | null;
  mean: number | null;
  high: number | null; // p95 of one workload, or the maximum over all workloads
  bound: number | null;
  coverage: number | null;
  samples: number | null;
  overBound: number | null; // p95 error / bound of one workload, or the median over all workloads
}

// Returns the points of one workload or, if it is null, of all workloads together.
export function methodPoints(evaluation: Evaluation, workload: string | null): MethodPoint[] {
  if (workload === null) {
    return (evaluation.summary ?? []).map((s) => ({ method: s.method, workload: "", asked: s.error_bound,
      speedup: s.speedup_harmonic, mean: s.error_mean, high: s.error_max, bound: null, coverage: s.coverage ?? null,
      samples: null, overBound: s.median_p95_over_bound ?? null }));
  }
  return (evaluation.rows ?? []).filter((r) => r.workload === workload).map((r) => ({ method: r.method,
    workload: r.workload, asked: r.error_bound, speedup: r.speedup, mean: r.error?.mean ?? null,
    high: r.error?.p95 ?? null, bound: r.bound ?? null, coverage: r.coverage ?? null, samples: r.samples ?? null,
    overBound: r.p95_over_bound ?? null }));
}

// Returns the vertical shift of each label (px, negative is up) that prevents overlaps with other labels and points.
// Labels are placed from left to right at the nearest free position that is not below 0.
export function placeLabels(boxes: { x: number; y: number; width: number }[]): number[] {
  const height = 14;
  const placed = boxes.map(({ x, y }) => ({ x: x - 14, y, width: 12 }));
  const moves = Array.from({ length: 16 }, (_, n) => (n % 2 === 0 ? 0 - n / 2 : (n + 1) / 2) * height);
  const order = boxes.map((_, i) => i).sort((a, b) => boxes[a]!.x - boxes[b]!.x);
  const out = new Array<number>(boxes.length).fill(0);
  for (const i of order) {
    const { x, y, width } = boxes[i]!;
    const free = (move: number) => (move <= 0 || y + move <= 0) && placed.every((p) => x > p.x + p.width || p.x > x + width ||
      Math.abs(y + move - p.y) >= height);
    out[i] = moves.find(free) ?? 0;
    placed.push({ x, y: y + out[i]!, width });
  }
  return out;
}

const plotHeight = 300; // px; approximate, because it depends on the height of the window

export function methodsOption(points: MethodPoint[], theme: Theme, all: boolean, width: number): EChartsCoreOption {
  const drawn = points.filter((p) => p.speedup !== null && p.speedup > 0 && p.mean !== null);
  const names = [...new Set(points.map((p) => p.method))];
  const asked = [...new Set(points.map((p) => p.asked))].filter((a): a is number => a !== null && a > 0);
  const color = (p: MethodPoint) => theme.series[names.indexOf(p.method)] ?? theme.rest;
  const label = (p: MethodPoint) => cutText(visible(p.method), 24) + (asked.length > 1 ? ` ${tidy(percent(p.asked))}` : "");
  const speeds = drawn.map((p) => p.speedup!);
  const low = Math.min(...speeds, Infinity) / 1.6;
  const high = Math.max(...speeds, 1) * (width < 500 ? 8 : 4); // room for the last label
  const ticks = ticksBetween(low, high);
  // An error of 0 is drawn at the lower end of the axis.
  const errors = [...drawn.flatMap((p) => [p.mean!, p.high ?? 0]), ...asked].filter((e) => e > 0);
  const foot = Math.max(1e-7, Math.min(...errors, 0.01)) / 1.6;
  const top = Math.max(...errors, 0.1) * 1.3;
  const errorTicks = ticksBetween(foot, top);
  const shown = (error: number | null) => Math.max(foot, error ?? 0);
  const part = (value: number, from: number, to: number) => Math.log(value / from) / Math.log(to / from);
  const moves = placeLabels(drawn.map((p) => ({ x: 8 + (width - plotLeft - plotRight) * part(p.speedup!, low, high),
    y: -plotHeight * part(shown(p.mean), foot, top), width: label(p).length * glyph + 14 })));
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "item", formatter: (p: Any) => {
      const point = drawn[p.dataIndex];
      if (!point) return "";
      return tip(label(point), [["less to trace", times(point.speedup)], ["mean error", percent(point.mean)],
        [all ? "largest error" : "p95 error", percent(point.high)], ["bound stated", percent(point.bound)],
        ["coverage", percent(point.coverage)]]);
    } },
    grid: { left: plotLeft, right: plotRight, top: 24, bottom: 46, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "log", min: low < Infinity ? low : 1, max: high, name: "less to trace (log)",
      nameLocation: "middle", nameGap: 26, axisTick: { customValues: ticks, lineStyle: { color: theme.axis } },
      splitLine: { show: false }, axisLabel: { customValues: ticks, formatter: (v: number) => tidy(times(v)) } }),
    yAxis: axis(theme, { type: "log", min: foot, max: top, name: "error (log)", nameGap: 8,
      axisTick: { customValues: errorTicks, lineStyle: { color: theme.axis } }, splitLine: { show: false },
      axisLabel: { customValues: errorTicks, formatter: (v: number) => tidy(percent(v)) } }),
    series: [{ name: "spread", type: "custom", encode: { x: 0, y: [1, 2] },
      data: drawn.map((p) => [p.speedup, shown(p.mean), shown(p.high ?? p.mean)]), renderItem: (params: Any, api: Any) => {
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        const top = api.coord([api.value(0), api.value(2)])[1];
        return { type: "path", shape: { pathData: `M${x},${y}V${top}M${x - 5},${top}H${x + 5}` },
          style: { fill: "none", stroke: color(drawn[params.dataIndex]!), lineWidth: 1.5 } };
      },
      markLine: { silent: true, symbol: "none", animation: false, lineStyle: { color: theme.bad, type: [5, 4] },
        label: { position: "insideEndTop", color: theme.bad, fontSize: 12, formatter: (p: Any) => `asked ${tidy(percent(p.value))}` },
        data: asked.map((yAxis) => ({ yAxis })) } },
    { name: "methods", type: "scatter", symbolSize: 10, data: drawn.map((p, i) => ({ value: [p.speedup, shown(p.mean)],
      itemStyle: { color: color(p), opacity: 1 }, label: { offset: [0, moves[i]], color: color(p) } })),
      label: { show: true, position: "right", fontSize: 12,
        formatter: (p: Any) => (drawn[p.dataIndex] ? label(drawn[p.dataIndex]!) : "") } }] };
}
