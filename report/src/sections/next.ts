// SPDX-License-Identifier: Apache-2.0
//
// Shows what to do with the samples: measure hardware counters, simulate or trace them.

import { consumersOf, counterCommands, exportCommand, exportNote, extrapolateCommand } from "../commands";
import { copyButton, h, replace } from "../dom";
import { visible } from "../format";
import type { Model } from "../model";
import type { Level } from "../verdict";

// Returns a line that is indented if it wraps and breaks only between words.
function lineOf(text: string): HTMLElement {
  const [, indent, rest] = text.match(/^( *)(.*)$/s)!;
  return h("span", { class: "line", style: `--indent:${indent!.length}` },
    ...rest!.split(/( +)/).map((word) => (word.trim() === "" ? word : h("span", { class: "word" }, word))));
}

function commandBox(title: string, text: () => string): { element: HTMLElement; update: () => void } {
  const code = h("code");
  const update = () => replace(code, ...visible(text()).split("⟨U+000A⟩").map(lineOf));
  update();
  const lines = h("pre", { tabindex: 0, role: "region", "aria-label": title }, code);
  return { element: h("div", { class: "command" }, lines, copyButton("Copy", text)), update };
}

function countersStep(model: Model): HTMLElement {
  const { commands, note } = counterCommands(model);
  return h("div", { class: "step" }, h("h4", null, "Hardware counters of each kernel, with Nsight Compute"),
    commands !== "" && commandBox("Counter commands", () => commands).element, h("p", { class: "quiet" }, note));
}

function simulatorStep(model: Model): HTMLElement {
  const consumers = consumersOf(model);
  let consumer = consumers[0]!;
  const exported = commandBox("Export command", () => exportCommand(model, consumer));
  const extrapolated = commandBox("Extrapolate command", () => extrapolateCommand(model, consumer));
  const select = h("select", { id: "consumer", change: () => {
    consumer = select.value;
    exported.update();
    extrapolated.update();
  } }, ...consumers.map((name) => h("option", { value: name }, name)));
  return h("div", { class: "step" }, h("h4", null, "Simulator, tracer or another tool: ", h("label", { for: "consumer", class: "unseen" },
    "Consumer"), select), Boolean(model.data.cost) && h("p", { class: "quiet" }, `An estimate: ${model.data.cost}.`),
    exported.element, extrapolated.element);
}

// Returns the location of the plan that the commands name.
function planPlace({ folder, planFile }: Model): string {
  if (planFile === folder) return "Run the commands in the directory that contains the plan.";
  if (planFile.startsWith(`${folder}/`)) return "Run the commands in the directory that contains the session.";
  return "Save plan.json (section Tables) in the directory in which you ran stemtap, and run the commands there.";
}

export function nextSteps(model: Model, level: Level): HTMLElement {
  const next = h("div", { class: "next" }, h("h3", null, "Next step"));
  if (model.samples.length === 0) {
    next.append(h("p", null, "There is nothing to export. Run the program again until it ends; ",
      "summary.txt in the session directory reports what was recorded."));
    return next;
  }
  if (level === "bad") {
    next.append(h("p", null, "First resolve the problems marked Stop, or make sure that they do not matter. Then:"));
  }
  const note = exportNote(model);
  next.append(h("p", null, "Measure the samples. The last command of each group estimates the totals of the whole run from the results:"),
    countersStep(model), simulatorStep(model),
    h("p", { class: "quiet" }, `${planPlace(model)} ${note}`));
  return next;
}
