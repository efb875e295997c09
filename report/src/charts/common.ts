// SPDX-License-Identifier: Apache-2.0
//
// What the charts share. A chart is an option of ECharts, made without side effects from the model and a theme.
// Whatever text comes from data goes through plain functions into canvas text, or into elements as text nodes (tips);
// ECharts never gets HTML of it.

import { h } from "../dom";
import { count } from "../format";
import type { Theme } from "../theme";

export const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";

// ECharts' own types ask for more than they give where options are put together from parts.
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

export function cutText(text: string, most: number): string {
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

// The last two of the names that a name is made of: namespaces before them take room and say little, as do arguments that
// are left out.
export function chartName(label: string): string {
  const end = label.search(/[<( ]/);
  const head = (end < 0 ? label : label.slice(0, end)).split("::");
  return head.slice(-2).join("::") + (end < 0 ? "" : label.slice(end).replace("<…>", ""));
}

// Where the plot of a chart over time lies in it, px from either side.
export const plotLeft = 64;
export const plotRight = 18;

export const glyph = 6.6; // px of a letter, about

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
