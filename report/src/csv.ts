// SPDX-License-Identifier: Apache-2.0
//
// Tables as CSV (RFC 4180). Names are unchanged, not escaped as on the page, except that a name which a spreadsheet
// would evaluate as a formula gets a leading '.

import type { Kernel, SampleRow } from "./model";

type Cell = string | number | boolean | null | undefined;

function cell(value: Cell): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(head: string[], rows: Iterable<Cell[]>): string {
  const lines = [head.join(",")];
  for (const row of rows) lines.push(row.map(cell).join(","));
  return lines.join("\r\n") + "\r\n";
}

export function kernelsCsv(kernels: Kernel[]): string {
  return csv(["kernel", "name", "invocations", "duration_ns", "share", "mean_ns", "cv", "clusters", "captured", "target",
    "uncovered_ns", "category"], kernels.map((k) => [k.id, k.name, k.invocations, k.duration, k.share, k.mean, k.cv,
    k.clusters.length, k.captured, k.target, Math.round(k.uncovered), k.category]));
}

const triple = (value: number[] | null | undefined) => (value ? value.join("x") : null);

export function samplesCsv(samples: SampleRow[]): string {
  return csv(["index", "kernel", "name", "occurrence", "cluster", "duration_ns", "imputed", "weight", "device", "stream",
    "grid", "block", "range", "step"], samples.map(({ sample: s, kernel, cluster }) => [s.index, kernel.id, kernel.name, s.occurrence, cluster,
    s.duration_ns, s.imputed === true ? 1 : 0, s.weight, s.device, s.stream, triple(s.grid), triple(s.block), s.range, s.step]));
}
