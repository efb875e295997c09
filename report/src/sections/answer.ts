// SPDX-License-Identifier: Apache-2.0
//
// The result: speedup, error, whether the bound can be trusted, and the next step.

import { copyButton, h } from "../dom";
import type { Context } from "../context";
import { visible } from "../format";
import { consumersOf, exportCommand, exportNote, extrapolateCommand, judge, tiles, type Level } from "../verdict";

const words: Record<Level, string> = { good: "Fine", note: "Note", care: "Care", bad: "Stop" };
const linesShown = 8;

const mark = (level: Level) => h("span", { class: `mark ${level}` }, words[level]);

function command(title: string, text: () => string): { element: HTMLElement; update: () => void } {
  const code = h("code");
  const update = () => (code.textContent = visible(text()));
  update();
  const line = h("pre", { tabindex: 0, role: "region", "aria-label": title }, code);
  return { element: h("div", { class: "command" }, line, copyButton("Copy", text)), update };
}

export function answerSection({ model }: Context): HTMLElement {
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

  const next = h("div", { class: "next" }, h("h3", null, "Next step"));
  if (model.samples.length > 0) {
    const consumers = consumersOf(model);
    let consumer = consumers[0]!;
    const exported = command("Export command", () => exportCommand(model, consumer));
    const select = h("select", { id: "consumer", change: () => {
      consumer = select.value;
      exported.update();
    } }, ...consumers.map((name) => h("option", { value: name }, name)));
    if (verdict.level === "bad") {
      next.append(h("p", null, "First resolve the problems marked Stop, or make sure that they do not matter. Then:"));
    }
    next.append(h("p", null, "Export the samples to the tool that measures them: ", h("label", { for: "consumer", class: "unseen" },
      "Consumer"), select), exported.element,
      h("p", { class: "quiet" }, "Then extrapolate its results to totals of the whole run:"),
      command("Extrapolate command", () => extrapolateCommand(model)).element,
      h("p", { class: "quiet" }, `Run both commands in the directory that contains the ${model.planFile === model.folder ? "plan" : "session"}. ` +
        exportNote(model)));
  } else {
    next.append(h("p", null, "There is nothing to export. Run the program again until it ends; ",
      "summary.txt in the session directory reports what was recorded."));
  }
  return h("section", { id: "answer", "aria-labelledby": "h-answer" }, h("h2", { id: "h-answer" }, "The answer"),
    strip, h("div", { class: "two" }, block, next));
}
