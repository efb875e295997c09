// SPDX-License-Identifier: Apache-2.0
//
// A treemap and a bar chart of the kernels with the most time.

import type { EChartsCoreOption } from "echarts/core";
import { count, duration, percent, plural, tidy } from "../format";
import { cutNames, differences, repeated } from "../labels";
import type { Kernel, Model } from "../model";
import { colorOf, type Theme } from "../theme";
import { axis, base, cutText, evenTicks, tip, wideGlyph, type Any } from "./common";

export interface Part {
  kernel: Kernel | null; // null for all other kernels together
  label: string;
  duration: number;
  invocations: number;
}

// Returns the kernels with the most time, and one part for all other kernels.
export function topParts(model: Model, max: number): Part[] {
  const top = model.byTime.slice(0, max);
  const parts: Part[] = top.map((kernel) => ({ kernel, label: kernel.short, duration: kernel.duration,
    invocations: kernel.invocations }));
  const rest = model.byTime.slice(max);
  if (rest.length > 0) {
    parts.push({ kernel: null, label: `${rest.length.toLocaleString("en-US")} other kernels`,
      duration: rest.reduce((a, k) => a + k.duration, 0), invocations: rest.reduce((a, k) => a + k.invocations, 0) });
  }
  return parts;
}

export const topCount = 30;

const shown = (kernel: Kernel | null, label: string) => cutText(kernel?.label ?? label, 300);

// Returns the labels of tiles. A tile shows only the beginning of its label, so a label starts with the parts that differ
// between kernels of a template.
function tileLabels(parts: Part[]): string[] {
  const labels = parts.map(({ label }) => label);
  for (const group of repeated(labels.map((label) => label.match(/^[^<]*/)![0]))) {
    differences(group.map((i) => labels[i]!)).forEach((difference, n) => {
      labels[group[n]!] = `${difference} · ${labels[group[n]!]}`;
    });
  }
  return labels.map((label) => cutText(label, 120));
}

function partTip(model: Model, part: Part) {
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
  const labels = tileLabels(parts);
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
          return part ? `${labels[p.data.part]}\n${percent(part.duration / (model.duration || 1))}` : "";
        } },
      emphasis: { itemStyle: { borderColor: theme.focus, borderWidth: 2 }, label: { color: theme.on } },
      data: parts.map((part, i) => ({ name: `part ${i}`, value: part.duration, part: i, kernel: part.kernel?.id ?? null,
        itemStyle: { color: colorOf(theme, part.kernel?.rank ?? null) } })) }] };
}

export function barsOption(model: Model, theme: Theme, width: number): EChartsCoreOption {
  const parts = topParts(model, topCount);
  const names = Math.round(Math.min(420, Math.max(110, width * 0.42)));
  const wide = width >= 500;
  const shortened = cutNames(parts.map((part) => part.label), Math.floor(names / wideGlyph));
  const longest = parts.reduce((a, part) => Math.max(a, part.duration), 0);
  const [, step = 0] = evenTicks(0, longest, Math.max(2, (width - names) / 150)); // leaves room for labels between the lines
  const label = (part: Part | undefined) => percent(model.duration > 0 && part ? part.duration / model.duration : null) +
    (wide && part?.kernel ? `, ${plural(part.kernel.captured, "sample")}` : "");
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "axis", axisPointer: { type: "shadow" }, formatter: (p: Any) => {
      const part = parts[p[0]?.dataIndex];
      return part ? partTip(model, part) : "";
    } },
    grid: { left: names + 10, right: wide ? 130 : 62, top: 2, bottom: 22, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "value", interval: step || undefined, max: step > 0 ? Math.ceil(longest / step) * step : undefined,
      axisLabel: { formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns))) } }),
    yAxis: { type: "category", inverse: true, data: parts.map((_, i) => String(i)), axisLine: { show: false },
      axisTick: { show: false }, triggerEvent: true, axisLabel: { interval: 0, width: names, overflow: "truncate",
        ellipsis: "…", color: theme.ink, fontSize: 12, formatter: (i: string) => shortened[Number(i)] ?? "" } },
    series: [{ name: "time", type: "bar", barCategoryGap: 5, data: parts.map((part, i) => ({ value: part.duration, part: i,
      kernel: part.kernel?.id ?? null, itemStyle: { color: colorOf(theme, part.kernel?.rank ?? null) } })),
      label: { show: true, position: "right", color: theme.quiet, backgroundColor: theme.surface, fontSize: 12,
        formatter: (p: Any) => label(parts[p.dataIndex]) } }] };
}
