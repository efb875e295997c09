// SPDX-License-Identifier: Apache-2.0
//
// Totals of the ranges in which the program made the sampled launches.

import type { Model, SampleRow } from "./model";

export const noRange = "(no range)";

export interface RangeTotals {
  name: string;
  samples: number;
  kernels: number;
  steps: [number, number] | null; // first and last
  launches: number; // that the samples represent, as in stemtap stats
  time: number; // ns that the samples represent
}

const hasMark = ({ sample }: SampleRow) => typeof sample.range === "string" || typeof sample.step === "number";

export const hasRanges = (model: Model) => model.samples.some(hasMark) || (model.data.plan?.ranges ?? []).length > 0;

// Returns the totals of each range, starting with the longest represented time.
export function rangesOf(samples: SampleRow[]): RangeTotals[] {
  const ranges = new Map<string, SampleRow[]>();
  for (const row of samples) {
    const name = row.sample.range ?? noRange;
    const of = ranges.get(name);
    if (of) of.push(row);
    else ranges.set(name, [row]);
  }
  const sum = (rows: SampleRow[], of: (row: SampleRow) => number) => rows.reduce((a, row) => a + of(row), 0);
  return [...ranges].map(([name, rows]): RangeTotals => {
    const steps = rows.map(({ sample }) => sample.step).filter((step): step is number => typeof step === "number");
    return { name, samples: rows.length, kernels: new Set(rows.map((row) => row.kernel)).size,
      steps: steps.length > 0 ? [steps.reduce((a, b) => Math.min(a, b)), steps.reduce((a, b) => Math.max(a, b))] : null,
      // Calibrated weights reproduce the time, not the number of launches.
      launches: sum(rows, ({ kernel, cluster }) => kernel.clusters[cluster]!.count / kernel.clusters[cluster]!.samples.length),
      time: sum(rows, ({ sample }) => sample.weight * sample.duration_ns) };
  }).sort((a, b) => b.time - a.time);
}
