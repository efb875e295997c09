// SPDX-License-Identifier: Apache-2.0
//
// The ranges and steps in which the program made the sampled launches (docs/guide/ranges.md).

import type { Context } from "../context";
import { h } from "../dom";
import { plainTable } from "../figure";
import { count, duration, none, number, percent, tidy, visible } from "../format";
import { rangesOf } from "../ranges";

const maxRows = 200;

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
