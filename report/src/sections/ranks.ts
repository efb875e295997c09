// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a job, and which of them are slow (docs/design/fleet.md, "Which rank is slow").

import type { Context } from "../context";
import { h } from "../dom";
import { count, durationsUpTo, none, percent, plural, visible } from "../format";
import { makeGrid } from "../grid";
import { shortOf, type Model } from "../model";
import type { DifferingKernels, Rank, Ranks } from "../types";

const maxNamed = 3; // kernels in a sentence

// Returns the short names of kernels as a text.
function namesOf(model: Model, kernels: string[]): string {
  const names = kernels.slice(0, maxNamed).map((name) => visible(shortOf({ name, invocations: 0 }, model.data.brief_names?.[name])));
  return names.join(", ") + (kernels.length > maxNamed ? ` and ${count(kernels.length - maxNamed)} more` : "");
}

const slowText = (model: Model, r: Rank) => `${percent(r.slower)} slower than the others (${percent(r.slower_low)} to ` +
  `${percent(r.slower_high)}) in ${percent(r.slow_share)} of the time: ${namesOf(model, r.slow_kernels ?? [])}`;

const stateOf = (r: Rank) => (r.ended ? "ended" : r.silent ? "silent" : "running");

// Returns what the comparison says, one sentence each. `isCare`: a rank is slow.
export function rankSentences(model: Model, ranks: Ranks): { text: string; isCare: boolean }[] {
  const all = ranks.ranks ?? [];
  const sentences = all.filter((r) => r.slow).map((r) =>
    ({ text: `Rank ${r.rank} on ${visible(r.host ?? "")} is ${slowText(model, r)}.`, isCare: true }));
  if ((ranks.kernels_compared ?? 0) === 0) {
    sentences.push({ text: "No kernel was compared: that takes five ranks which launch it.", isCare: false });
  } else if (sentences.length === 0) {
    sentences.push({ text: `No rank is slow: ${plural(ranks.kernels_compared!, "kernel")} compared.`, isCare: false });
  }
  const differ = (kernels: DifferingKernels | undefined, one: string, many: string) => {
    const number = kernels?.kernels?.length ?? 0;
    if (!kernels || number === 0) return;
    sentences.push({ text: `${plural(number, "kernel")}, ${percent(kernels.share)} of the time, ${number === 1 ? one : many}: ` +
      `${namesOf(model, kernels.kernels!)}.`, isCare: false });
  };
  differ(ranks.kernels_apart, "takes longer on some ranks", "take longer on some ranks");
  differ(ranks.kernels_of_some, "runs on some ranks only", "run on some ranks only");
  return sentences;
}

export function ranksSection({ model }: Context): HTMLElement {
  const ranks = model.data.ranks!;
  const rows = ranks.ranks ?? [];
  const longest = rows.reduce((most, r) => Math.max(most, r.duration_ns ?? 0), 0);
  const captured = rows.reduce((sum, r) => sum + (r.captured_ns ?? 0), 0);
  const time = durationsUpTo(longest);
  const grid = makeGrid<Rank>("Ranks", rows, [
    { name: "Rank", width: 72, text: (r) => String(r.rank), value: (r) => r.rank },
    { name: "Host", width: 180, isName: true, text: (r) => visible(r.host ?? ""), value: (r) => r.host ?? "" },
    { name: "Time", width: 100, text: (r) => time(r.duration_ns), value: (r) => r.duration_ns ?? -1,
      bar: (r) => (longest > 0 ? (r.duration_ns ?? 0) / longest : 0) },
    { name: "Launches", width: 100, text: (r) => count(r.launches), value: (r) => r.launches ?? -1 },
    { name: "Captures", width: 92, text: (r) => count(r.captures), value: (r) => r.captures ?? -1 },
    { name: "Captured", width: 92, text: (r) => percent(captured > 0 ? (r.captured_ns ?? 0) / captured : null),
      title: () => "Share of the captured time of the job", value: (r) => r.captured_ns ?? -1 },
    { name: "Slower", width: 84, text: (r) => (r.slow ? percent(r.slower) : none), value: (r) => r.slower ?? -1,
      title: (r) => (r.slow ? slowText(model, r) : "") },
    { name: "95 % interval", width: 140, text: (r) => (r.slow ? `${percent(r.slower_low)} to ${percent(r.slower_high)}` : none),
      value: (r) => r.slower_low ?? -1 },
    { name: "Of the time", width: 98, text: (r) => (r.slow ? percent(r.slow_share) : none), value: (r) => r.slow_share ?? -1 },
    { name: "State", width: 84, left: true, text: stateOf, value: stateOf },
  ], "Rank", true, null);
  grid.show(rows);
  const communication = ranks.communication_share ?? 0;
  return h("section", { id: "ranks", "aria-labelledby": "h-ranks" }, h("h2", { id: "h-ranks" }, "Ranks"),
    h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null, "The runs of the job are compared kernel by kernel. " +
      "A rank is slow if kernels that have at least 3 % of its time take longer than on the other ranks, by more than ranks differ " +
      "among each other. Slower: by how much, as the mean over these kernels; of the time: their share. " +
      (communication > 0 ? `Communication, ${percent(communication)} of the time, is not compared, because it waits for the slowest rank. ` : "") +
      "Captured: the share of the job's captured time. Click a column name to sort.")),
    ...rankSentences(model, ranks).map(({ text, isCare }) => h("p", { class: isCare ? "fact care-text" : "fact" }, h("bdi", null, text))),
    grid.element);
}
