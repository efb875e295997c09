// SPDX-License-Identifier: Apache-2.0
//
// Tables as CSV (RFC 4180). Names are not escaped as on the page, but a name that a spreadsheet would evaluate as a
// formula gets a leading '.

import type { Change } from "./changes";
import type { Kernel, SampleRow } from "./model";

type Cell = string | number | boolean | null | undefined;

function cell(value: Cell): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : String(value);
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

// Returns the columns of `stemtap diff --csv`.
export function changesCsv(changes: Change[]): string {
  return csv(["name", "verdict", "launches_a", "launches_b", "duration_a_ns", "duration_b_ns", "mean_a_ns", "mean_b_ns",
    "by_launches_ns", "by_shapes_ns", "by_duration_ns", "mean_change", "change", "lower", "upper", "p", "adjusted_p",
    "assumes_independence", "basis", "shift", "shift_lower", "shift_upper", "adjusted_shift_p", "reason",
    "equal_mean_a_ns", "equal_mean_b_ns"], changes.map(({ diff: k }) => [k.name, k.verdict, k.launches_a, k.launches_b, k.duration_a_ns,
    k.duration_b_ns, k.mean_a_ns, k.mean_b_ns, k.by_launches_ns, k.by_shapes_ns, k.by_duration_ns, k.mean_change, k.change,
    k.lower, k.upper, k.p, k.adjusted_p, k.assumes_independence ? 1 : 0, k.basis, k.shift, k.shift_lower, k.shift_upper,
    k.adjusted_shift_p, k.reason, k.equal_mean_a_ns, k.equal_mean_b_ns]));
}

const triple = (value: number[] | null | undefined) => (value ? value.join("x") : null);

export function samplesCsv(samples: SampleRow[]): string {
  return csv(["index", "kernel", "name", "occurrence", "cluster", "duration_ns", "imputed", "weight", "device", "stream",
    "grid", "block", "range", "step"], samples.map(({ sample: s, kernel, cluster }) => [s.index, kernel.id,
      kernel.pooled[s.pooled ?? -1]?.name ?? kernel.name, s.occurrence, cluster,
    s.duration_ns, s.imputed === true ? 1 : 0, s.weight, s.device, s.stream, triple(s.grid), triple(s.block), s.range, s.step]));
}
