// SPDX-License-Identifier: Apache-2.0
//
// The ranges and steps in which the program made the sampled launches (docs/guide/ranges.md).

import type { Context } from "../context";
import { h } from "../dom";
import { plainTable } from "../figure";
import { count, duration, none, percent, visible } from "../format";
import { noRange, rangesOf } from "../ranges";

const maxRows = 200;

// Returns the ranges of a plan that groups launches by range, with exact totals.
function groups({ model }: Context): HTMLElement | null {
  const ranges = model.data.plan?.ranges ?? [];
  if (ranges.length === 0) return null;
  const share = (ns: number) => percent(model.duration > 0 ? ns / model.duration : null);
  return plainTable({ head: ["Range", "Launches", "Time", "Share", "Samples", "Sampled time", "Bound", "Error"],
    rows: ranges.slice(0, maxRows).map((r) => [h("bdi", { title: visible(r.range) }, visible(r.range) || noRange), count(r.invocations),
      duration(r.duration_ns), share(r.duration_ns), count(r.samples), duration(r.sampled_duration_ns), percent(r.bound),
      percent(r.observed_error)]),
    ...(ranges.length > maxRows ? { note: `${count(ranges.length - maxRows)} more ranges are not listed.` } : {}) });
}

export function rangesSection(context: Context): HTMLElement {
  const { model } = context;
  const grouped = groups(context);
  if (grouped) {
    return h("section", { id: "ranges", "aria-labelledby": "h-ranges" }, h("h2", { id: "h-ranges" }, "Ranges"),
      h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null, "Launches are grouped by range " +
        "(--ranges or --only-range), so the totals are exact. The bound is of the time of the range, and the error is of the " +
        "estimate from its samples. With --bound range, each range has as many samples as its own bound needs; otherwise, only the total has.")),
      grouped);
  }
  const ranges = rangesOf(model.samples);
  return h("section", { id: "ranges", "aria-labelledby": "h-ranges" }, h("h2", { id: "h-ranges" }, "Ranges and steps"),
    h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null, "The program reported these ranges and steps. Only " +
      "samples have them, so launches and time are what the samples of a range represent: the launches of each cluster divided by its samples, and " +
      "the weights times the durations, as stemtap stats --by range prints them. They are estimates without a bound; with few " +
      "samples, they are rough. A range that had no sample is not listed. The share is of the time of the whole run.")),
    plainTable({ head: ["Range", "Samples", "Kernels", "Steps", "Launches, estimated", "Time, estimated", "Share"],
      rows: ranges.slice(0, maxRows).map((r) => [h("bdi", { title: visible(r.name) }, visible(r.name)), count(r.samples), count(r.kernels),
        r.steps === null ? none : r.steps[0] === r.steps[1] ? count(r.steps[0]) : `${count(r.steps[0])} to ${count(r.steps[1])}`,
        count(r.launches), duration(r.time), percent(model.duration > 0 ? r.time / model.duration : null)]),
      ...(ranges.length > maxRows ? { note: `${count(ranges.length - maxRows)} more ranges are not listed.` } : {}) }));
}
