// SPDX-License-Identifier: Apache-2.0
//
// Shows what changed since the baseline and which changes are real (docs/guide/what-got-slower.md).

import { changesOf, countsText, differenceOf, hasShapes, intervalText, largestChanges, leadText, meanA, meanB, partsText, shiftTexts,
  totalText, verdicts, verdictText, type Change } from "../changes";
import { changesOption, rowHeight } from "../charts/changes";
import type { Context } from "../context";
import { changesCsv } from "../csv";
import { copyButton, download, h } from "../dom";
import { makeFigure } from "../figure";
import { count, duration, durationChange, durationsUpTo, percent, percentChange, plural, tidy, visible } from "../format";
import { makeGrid, type Column } from "../grid";
import { cutNames } from "../labels";
import { maxLabel, search, type Kernel, type Model } from "../model";
import type { Diff, DiffRun } from "../types";

const maxShown = 20; // changes in the chart

// Returns the verdict about the whole run, and the outcome of the policy if there is one.
function outcome({ total, policy }: Diff): HTMLElement[] {
  const lines = [];
  if (total) lines.push(h("p", { class: "fact", id: "changes-total" }, "Total GPU time: ", h("strong", null, totalText(total)), "."));
  if (policy) {
    lines.push(h("p", { class: policy.outcome === "ok" ? "fact" : "fact care-text", id: "changes-policy" }, "Policy ",
      h("bdi", null, visible(policy.rules)), ": ", h("strong", null, policy.outcome), " – ", h("bdi", null, visible(policy.reason))));
  }
  return lines;
}

function answer(model: Model, diff: Diff, changes: Change[]): HTMLElement[] {
  const difference = differenceOf(diff);
  const [slower, ...others] = countsText(diff);
  const relative = diff.a.duration_ns > 0 ? ` (${percentChange(difference / diff.a.duration_ns)})` : "";
  const run = ({ launches, duration_ns }: DiffRun) => ` (${plural(launches, "launch", "launches")}, ${duration(duration_ns)})`;
  return [...outcome(diff),
  h("p", { class: "fact", id: "changes-lead" }, h("bdi", null, visible(leadText(changes)))),
  h("p", { class: "fact" }, h("strong", null, slower!), `, ${others.join(", ")}. B − A: `,
    h("strong", null, durationChange(difference) + relative), `, of which ${partsText(diff)}.`),
  h("p", { class: "fact quiet" }, "A, the baseline: ", h("bdi", null, visible(diff.a.source)), run(diff.a), ". B, this run: ",
    h("bdi", null, visible(model.folder)), `${run(diff.b)}. Threshold for a change of a mean: ` +
    `${tidy(percent(diff.threshold))}. Confidence for the whole table: ${tidy(percent(diff.confidence))}.`)];
}

function figure(diff: Diff, changes: Change[], choose: (change: Change) => void): HTMLElement {
  const shown = largestChanges(changes, maxShown);
  const names = cutNames(shown.map((c) => c.short), maxLabel);
  return makeFigure({ name: "changes", title: `The ${plural(shown.length, "largest change")}, by verdict`, height: `${50 + rowHeight * Math.max(1, shown.length)}px`,
    how: "Left: how much more or less time a kernel takes in B than in A (wide bar), and the part of it that comes from longer or " +
      `shorter launches (inner bar); the rest comes from their number${hasShapes(diff) ? " and their shapes" : ""}. Right: the change of the mean duration with its interval, on a log axis; ` +
      "an arrow is an end beyond the axis, and changes within the gray band are too small to count. A filled mark is a real change at the stated confidence; " +
      "an outline is no change, or may be chance. Click a mark to select its kernel. To see which changes are due to the machine, compare the baseline with a second run of the same program.",
    label: () => "Largest changes: " + shown.slice(0, 3).map((c, i) => `${names[i]} ${durationChange(c.time)}, ${c.diff.verdict}`).join("; "),
    missing: () => (shown.length === 0 ? "Neither run has kernels." : null),
    option: (theme, width) => changesOption(shown, diff.threshold, theme, width),
    table: () => ({ head: ["Kernel", "Verdict", "B − A", "Change", "Interval"], rows: shown.map((c, i) => [names[i]!, verdictText(c),
      durationChange(c.time), percentChange(c.diff.change), intervalText(c)]),
      ...(changes.length > shown.length ? { note: `${count(changes.length - shown.length)} more are in the table of all kernels.` } : {}) }),
    click: ({ kernel }) => {
      const change = shown.find((c) => c.kernel !== null && c.kernel.id === kernel);
      if (!change) return;
      choose(change);
      document.getElementById("kernel")?.scrollIntoView({ block: "start" });
    } }).element;
}

function columns(diff: Diff, changes: Change[]): Column<Change>[] {
  const most = changes.reduce((a, c) => Math.max(a, Math.abs(c.time)), 1);
  const time = durationsUpTo(most);
  const mean = durationsUpTo(changes.reduce((a, { diff: k }) => Math.max(a, meanA(k) ?? 0, meanB(k) ?? 0), 0));
  const low = -Infinity; // an unknown value
  const part = (name: string, of: (change: Change) => number): Column<Change> => ({ name, width: 96,
    text: (c) => durationChange(of(c), time), value: of });
  return [
    { name: "Kernel", width: 300, isName: true, text: (c) => c.short,
      title: (c) => c.label + (c.kernel === null ? " (not in this run)" : ""), value: (c) => c.label },
    { name: "Verdict", width: changes.some((c) => verdictText(c) !== c.diff.verdict) ? 144 : 76, left: true, text: verdictText, value: (c) => verdicts.indexOf(c.diff.verdict) },
    { name: "Change", width: 94, text: (c) => percentChange(c.diff.change), value: (c) => c.diff.change ?? low },
    { name: "Interval", width: 152, text: intervalText, value: (c) => c.diff.lower ?? low },
    { name: "B − A", width: 104, text: (c) => durationChange(c.time, time), value: (c) => c.time, bar: (c) => Math.abs(c.time) / most },
    part("By launches", (c) => c.diff.by_launches_ns),
    ...(hasShapes(diff) ? [part("By shapes", (c) => c.diff.by_shapes_ns)] : []),
    part("By duration", (c) => c.diff.by_duration_ns),
    { name: "Launches A", width: 98, text: (c) => count(c.diff.launches_a), value: (c) => c.diff.launches_a },
    { name: "Launches B", width: 98, text: (c) => count(c.diff.launches_b), value: (c) => c.diff.launches_b },
    { name: "Mean A", width: 82, text: (c) => mean(meanA(c.diff)), value: (c) => meanA(c.diff) ?? low },
    { name: "Mean B", width: 82, text: (c) => mean(meanB(c.diff)), value: (c) => meanB(c.diff) ?? low },
  ];
}

function table(context: Context, diff: Diff, changes: Change[], choose: (change: Change) => void): HTMLElement {
  const grid = makeGrid<Change>("Changes", changes, columns(diff, changes), "Verdict", true, choose, (change) => change.kernel !== null);
  const found = h("output", { for: "changes-search", class: "quiet" });
  const input = h("input", { id: "changes-search", type: "search", placeholder: "Words in the name", spellcheck: "false",
    autocomplete: "off", input: () => show() });
  const show = () => {
    const rows = search(changes, input.value);
    grid.show(rows);
    found.textContent = `${count(rows.length)} of ${count(changes.length)} kernels`;
  };
  show();
  const rowOf = (kernel: Kernel | null) => changes.find((c) => c.kernel !== null && c.name === kernel?.name) ?? null;
  grid.choose(rowOf(context.chosen), false);
  context.onChoose((kernel) => grid.choose(rowOf(kernel), true));
  const text = () => changesCsv(grid.rows());
  return h("div", { class: "panel" }, h("h3", null, "All kernels of both runs"),
    h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null, "\"By launches\" is the part of the difference from more " +
      "or fewer launches, \"By duration\" from longer or shorter launches" + (hasShapes(diff) ? ", \"By shapes\" from launches with other grids or blocks. "
      : ". Without times by grid and block, \"By duration\" includes the effect of other shapes. ") +
      "Mean A and Mean B are at equal grids and blocks where these are known. Rows are sorted by verdict, then by the size of B − A; click a heading to sort. " +
      "Slower and faster hold for the whole table at its confidence. Same: the whole interval, which is for its kernel alone, is within the threshold. " +
      "Unclear: the interval contains changes within and beyond the threshold (wide interval); it is beyond the threshold, but with so many kernels one may be so by chance (many kernels); " +
      "most launches changed, and the mean in the other direction (mixed); or the kernel cannot be tested, because a run has too few launches (few launches), " +
      "launches in too few parts of its time (few slices), 0 ns (no time), no order of launches (no order) or no times by grid and block (no shapes), or because less than half of the time is in shapes that both runs have (other shapes). " +
      "Most launches: the mean is uncertain, for example because of a few very long launches, but the quartiles of the launches changed. A kernel that is gone cannot be selected. changes.csv has the columns of stemtap diff --csv.")),
    h("div", { class: "tools" }, h("label", { for: "changes-search", class: "unseen" }, "Search changes"), input, found,
      copyButton("Copy CSV", text), h("button", { type: "button", class: "small", id: "download-changes",
        click: () => download("changes.csv", "text/csv;charset=utf-8", [text()]) }, "changes.csv")), grid.element);
}

export function changesSection(context: Context): HTMLElement {
  const { diff } = context.model.data;
  const section = h("section", { id: "changes", "aria-labelledby": "h-changes" },
    h("h2", { id: "h-changes" }, "Changes since the baseline"));
  if (!diff) return section;
  const changes = changesOf(context.model, diff);
  const choose = ({ kernel }: Change) => context.choose(kernel!); // rows without a kernel cannot be selected
  section.append(...answer(context.model, diff, changes), ...diff.notes.map((note) => h("p", { class: "fact care-text" }, "Note: ", h("bdi", null, visible(note)))),
    ...shiftTexts(changes).map((text) => h("p", { class: "fact" }, h("bdi", null, visible(text)))), figure(diff, changes, choose), table(context, diff, changes, choose));
  return section;
}
