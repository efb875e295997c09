// SPDX-License-Identifier: Apache-2.0
//
// The title of the page is the question that it answers. Below it are the figures that readers need first.

import { busyShare } from "./charts/activity";
import { cutText } from "./charts/common";
import { count, duration, percent, shellWord, times, visible } from "./format";
import { isPlanAlone, type Model } from "./model";

// A name in a title is data.
export type TitlePart = string | { name: string };

const maxName = 60; // characters of a name in the title

// Removes the directories of the paths in a text: a source may be a command, or several profiles.
const withoutDirectories = (text: string) => text.replace(/[^\s,]*\/(?=[^\s,])/g, "");

// Returns the program or the recorded run that the page is about.
function subjectOf(model: Model): TitlePart {
  const [program, ...words] = model.command;
  if (program !== undefined) return { name: [program.split("/").at(-1) || program, ...words].map(shellWord).join(" ") };
  const sessions = model.data.session?.sessions?.length ?? 0;
  if (sessions > 1) return `${count(sessions)} sessions`;
  return { name: withoutDirectories(model.data.plan?.source ?? "") || model.folder || "a session" };
}

// The plan of a profile is made for its page; another plan alone is what the user asked for.
const isGivenPlan = (model: Model) => isPlanAlone(model) && model.planFile === model.folder;

function partsOf(model: Model): TitlePart[] {
  const { diff, plan, overview } = model.data;
  if (diff) {
    const names = [diff.a.source, diff.b.source].map(withoutDirectories);
    const [a, b] = names[0] === names[1] ? [diff.a.source, diff.b.source] : names;
    return ["What changed from ", { name: a! }, " to ", { name: b! }];
  }
  if (!plan && !overview) return ["Report of ", { name: model.folder || "a session" }];
  return isGivenPlan(model) ? ["Which launches represent ", subjectOf(model)]
    : ["Where the GPU time of ", subjectOf(model), " goes"];
}

export const titleOf = (model: Model): TitlePart[] => partsOf(model).map((part) =>
  typeof part === "string" ? part : { name: cutText(visible(part.name), maxName) });

export interface HeadFigure {
  value: string;
  label: string;
}

// Returns the known figures, in the order of the sections.
export function headFigures(model: Model): HeadFigure[] {
  const { speedup } = model.data.plan?.totals ?? {};
  const busy = busyShare(model);
  const devices = model.data.session?.devices?.length ?? 0;
  if (model.invocations === 0) return [];
  return [{ value: duration(model.duration), label: "GPU time" },
    { value: count(model.invocations), label: model.invocations === 1 ? "launch" : "launches" },
    ...(busy === null ? [] : [{ value: percent(busy), label: devices > 1 ? `busy, mean of ${devices} devices` : "busy" }]),
    ...(model.bound === null ? [] : [{ value: percent(model.bound), label: "error bound" }]),
    ...(typeof speedup === "number" && speedup > 0 ? [{ value: times(speedup), label: "less to trace" }] : [])];
}
