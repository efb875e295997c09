// SPDX-License-Identifier: Apache-2.0
//
// The ranges and steps in which the program made the sampled launches (docs/guide/ranges.md).

import type { Context } from "../context";
import { h } from "../dom";
import { plainTable } from "../figure";
import { count, duration, none, percent, tidy, visible, number } from "../format";
import type { Model, SampleRow } from "../model";

const maxRows = 200;
export const noRange = "(no range)";

export interface RangeTotals {
  name: string;
  samples: number;
  kernels: number;
  steps: [number, number] | null; // first and last
  launches: number; // that the samples represent
  time: number; // ns that the samples represent
}

const hasMark = ({ sample }: SampleRow) => typeof sample.range === "string" || typeof sample.step === "number";

export const hasRanges = (model: Model) => model.samples.some(hasMark);

// Returns the totals of each range, the longest represented time first.
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
      launches: sum(rows, ({ sample }) => sample.weight), time: sum(rows, ({ sample }) => sample.weight * sample.duration_ns) };
  }).sort((a, b) => b.time - a.time);
}

export function rangesSection({ model }: Context): HTMLElement {
  const ranges = rangesOf(model.samples);
  const all = ranges.reduce((a, range) => a + range.time, 0);
  return h("section", { id: "ranges", "aria-labelledby": "h-ranges" }, h("h2", { id: "h-ranges" }, "Ranges and steps"),
    h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null, "The program reported these ranges and steps. Only " +
      "samples have them, so launches and time are what the samples of a range represent: the sums of their weights, and of their " +
      "weights times their durations. They are estimates without a bound; with few samples, they are rough. A range that " +
      "had no sample is not listed.")),
    plainTable({ head: ["Range", "Samples", "Kernels", "Steps", "Launches, estimated", "Time, estimated", "Share"],
      rows: ranges.slice(0, maxRows).map((r) => [h("bdi", { title: visible(r.name) }, visible(r.name)), count(r.samples), count(r.kernels),
        r.steps === null ? none : r.steps[0] === r.steps[1] ? count(r.steps[0]) : `${count(r.steps[0])} to ${count(r.steps[1])}`,
        tidy(number(r.launches)), duration(r.time), percent(all > 0 ? r.time / all : null)]),
      ...(ranges.length > maxRows ? { note: `${count(ranges.length - maxRows)} more ranges are not listed.` } : {}) }));
}
