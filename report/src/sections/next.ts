// SPDX-License-Identifier: Apache-2.0
//
// Shows what to do with the samples: measure hardware counters, simulate or trace them.

import { consumersOf, counterCommands, exportCommand, exportNote, extrapolateCommand, planCommand } from "../commands";
import { fill, h } from "../dom";
import type { Model } from "../model";
import type { Level } from "../verdict";
import { commandBox } from "./command_box";

function countersStep(model: Model): HTMLElement {
  const { commands, note } = counterCommands(model);
  return h("div", { class: "step" }, h("h4", null, "Hardware counters of each kernel, with Nsight Compute"),
    commands !== "" && commandBox("Counter commands", () => commands).element, h("p", { class: "quiet" }, note));
}

function simulatorStep(model: Model): HTMLElement {
  const consumers = consumersOf(model).filter((consumer) => consumer !== "ncu"); // has its own step
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
    exported.element, extrapolated.element,
    h("p", { class: "quiet" }, "RESULTS is the file that the simulator or tool writes about the samples."));
}

// Returns the command that makes the plan that the other commands use, for a page that was made without one.
function planStep(model: Model): HTMLElement | null {
  const command = planCommand(model);
  if (command === "") return null;
  return h("div", { class: "step" }, h("h4", null, "First write the plan of this page to a file"), commandBox("Plan command", () => command).element);
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
  fill(next, [h("p", null, "Measure the samples. The last command of each group estimates the totals of the whole run from the results:"),
    planStep(model), countersStep(model), simulatorStep(model),
    note !== "" && h("p", { class: "quiet" }, note)]);
  return next;
}
