// SPDX-License-Identifier: Apache-2.0
//
// The sections of the page, from top to bottom. A new section is a new row.

import type { Context } from "../context";
import type { Model } from "../model";
import { hasRanges } from "../ranges";
import { activitySection } from "./activity";
import { answerSection } from "./answer";
import { changesSection } from "./changes";
import { kernelSection } from "./kernel";
import { methodsSection } from "./methods";
import { rangesSection } from "./ranges";
import { sessionSection } from "./session";
import { tablesSection } from "./tables";
import { driftSection, timelineSection } from "./time";
import { whereSection } from "./where";

export interface Section {
  id: string; // of its element, the target of the link in the header
  name: string; // of the link
  make: (context: Context) => HTMLElement;
  isShown?: (model: Model) => boolean; // absent if the section is always shown
}

const all: Section[] = [
  { id: "answer", name: "Answer", make: answerSection },
  { id: "changes", name: "Changes", make: changesSection, isShown: (model) => Boolean(model.data.diff) },
  { id: "where", name: "Time", make: whereSection },
  { id: "kernel", name: "Kernel", make: kernelSection },
  { id: "activity", name: "Activity", make: activitySection },
  { id: "ranges", name: "Ranges", make: rangesSection, isShown: hasRanges },
  { id: "timeline", name: "Timeline", make: timelineSection },
  { id: "drift", name: "Drift", make: driftSection },
  { id: "tables", name: "Tables", make: tablesSection },
  { id: "methods", name: "Methods", make: methodsSection, isShown: (model) => Boolean(model.data.evaluation) },
  { id: "session", name: "Session", make: sessionSection },
];

// Returns the sections of a page. A comparison opens with what changed; the sample of this run comes after it.
export function sectionsOf(model: Model): Section[] {
  const shown = all.filter((section) => section.isShown?.(model) ?? true);
  const isFirst = ({ id }: Section) => id === "changes";
  return [...shown.filter(isFirst), ...shown.filter((section) => !isFirst(section))];
}
