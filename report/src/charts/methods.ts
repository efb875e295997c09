// SPDX-License-Identifier: Apache-2.0
//
// Methods of an evaluation: error against speedup.

import type { EChartsCoreOption } from "echarts/core";
import { percent, tidy, times, visible } from "../format";
import type { Theme } from "../theme";
import type { Evaluation } from "../types";
import { axis, base, cutText, glyph, ticksBetween, tip, type Any } from "./common";

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
  const high = Math.max(...speeds, 1) * (width < 500 ? 8 : 2.2); // room for the last label
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
