// SPDX-License-Identifier: Apache-2.0
//
// How the run is sampled: how much less there is to trace, the error, whether the bound can be trusted, and the next step.
// In a comparison, this is the sample of the second run.

import { h } from "../dom";
import type { Context } from "../context";
import { judge, tiles, type Level } from "../verdict";
import { nextSteps } from "./next";

const words: Record<Level, string> = { good: "Fine", note: "Note", care: "Care", bad: "Stop" };
const linesShown = 8;

const mark = (level: Level) => h("span", { class: `mark ${level}` }, words[level]);

export function samplesSection({ model }: Context): HTMLElement {
  const verdict = judge(model);
  const strip = h("dl", { class: "tiles" }, ...tiles(model).map((tile) => h("div", { class: `tile ${tile.level}` },
    h("dt", null, tile.name), h("dd", { class: "value" }, tile.value), h("dd", { class: "detail" }, tile.detail))));

  const line = (l: (typeof verdict.lines)[number]) => h("li", null, mark(l.level),
    h("div", null, h("p", { class: "what" }, h("bdi", null, l.text)), h("p", { class: "why" }, h("bdi", null, l.why))));
  const first = verdict.lines.slice(0, linesShown);
  const more = verdict.lines.slice(linesShown);
  const block = h("div", { class: `verdict ${verdict.level}` }, h("h3", null, verdict.headline),
    h("ul", { class: "lines" }, ...first.map(line)),
    more.length > 0 && h("details", null, h("summary", null, `${more.length} more`),
      h("ul", { class: "lines" }, ...more.map(line))));

  return h("section", { id: "samples", "aria-labelledby": "h-samples" }, h("h2", { id: "h-samples" }, model.data.diff ? "The samples of this run (B)" : "The samples"),
    strip, Boolean(model.data.spread) && h("p", { class: "quiet" }, `${model.data.spread}.`), h("div", { class: "two" }, block, nextSteps(model, verdict.level)));
}
