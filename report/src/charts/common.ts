// SPDX-License-Identifier: Apache-2.0
//
// Functions shared by the charts. A chart is an ECharts option, computed from the model and a theme without side effects.
// Text from data becomes chart text or text nodes (tips), never HTML.

import { h } from "../dom";
import { count } from "../format";
import type { Theme } from "../theme";

export const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";

// The types of ECharts do not allow options assembled from parts.
export type Any = any;

export function tip(title: string, rows: [string, string][]): HTMLElement {
  return h("div", { class: "tip" }, title !== "" && h("strong", null, title),
    h("dl", null, ...rows.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)])));
}

export function base(theme: Theme): Any {
  return { animation: false, textStyle: { fontFamily: font, color: theme.ink, fontSize: 12 },
    backgroundColor: "transparent",
    tooltip: { backgroundColor: theme.surface, borderColor: theme.axis, borderWidth: 1, padding: 0, confine: true,
      transitionDuration: 0, textStyle: { color: theme.ink, fontFamily: font, fontSize: 12 },
      extraCssText: "box-shadow: 0 2px 10px rgba(0,0,0,.25); max-width: min(420px, 90vw); white-space: normal;" } };
}

export function axis(theme: Theme, more: Any): Any {
  const { axisLabel, ...rest } = more;
  return { nameTextStyle: { color: theme.quiet, fontSize: 12 }, axisLine: { lineStyle: { color: theme.axis } },
    axisTick: { lineStyle: { color: theme.axis } }, splitLine: { lineStyle: { color: theme.line } },
    minorSplitLine: { show: false }, axisLabel: { color: theme.quiet, fontSize: 12, hideOverlap: true, ...axisLabel },
    ...rest };
}

export function cutText(text: string, max: number): string {
  const parts = [...text];
  return parts.length > max ? parts.slice(0, max - 1).join("") + "…" : text;
}

// Horizontal insets of the plot area in charts over time, in px.
export const plotLeft = 76;
export const plotRight = 18;

export const glyph = 6.6; // approximate width of a letter, px
export const wideGlyph = 7.8; // in fonts with wide letters (DejaVu, Verdana)

// Returns round values for a log axis that spans any factor, such as 1.1 or a million.
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
    return evenTicks(low, high, 5);
  }
  return out.map((value) => Number(value.toPrecision(6))).filter((value) => value >= low && value <= high);
}

// Returns about `wanted` round values at equal distances.
export function evenTicks(low: number, high: number, wanted: number): number[] {
  const raw = (high - low) / wanted;
  if (!(raw > 0)) return [];
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((s) => s * size >= raw)! * size;
  const out: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; ++i) out.push(Number((i * step).toPrecision(6)));
  return out;
}

export function compact(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${Number((value / 1e9).toPrecision(3))} G`;
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))} k`;
  return count(value);
}
