// SPDX-License-Identifier: Apache-2.0
//
// The sections of the page, from top to bottom. A new section is a new row.

import type { Context } from "../context";
import { whyNoDrift, whyNoKernels, whyNoTimeline } from "../missing";
import type { Model } from "../model";
import { hasRanges } from "../ranges";
import { activitySection, hasActivity } from "./activity";
import { changesSection } from "./changes";
import { kernelSection } from "./kernel";
import { methodsSection } from "./methods";
import { rangesSection } from "./ranges";
import { ranksSection } from "./ranks";
import { samplesSection } from "./samples";
import { sessionSection } from "./session";
import { tablesSection } from "./tables";
import { driftSection, timelineSection } from "./time";
import { hasWhere, whereSection } from "./where";

const hasKernels = (model: Model) => whyNoKernels(model) === null;

export interface Section {
  id: string; // of its element, the target of the link in the header
  name: string; // of the link
  make: (context: Context) => HTMLElement;
  isShown?: (model: Model) => boolean; // absent if the section is always shown
}

const all: Section[] = [
  { id: "changes", name: "Changes", make: changesSection, isShown: (model) => Boolean(model.data.diff) },
  { id: "where", name: "GPU time", make: whereSection, isShown: hasWhere },
  { id: "activity", name: "Activity", make: activitySection, isShown: hasActivity },
  { id: "ranks", name: "Ranks", make: ranksSection, isShown: (model) => Boolean(model.data.ranks) },
  { id: "samples", name: "Samples", make: samplesSection },
  { id: "kernel", name: "Kernel", make: kernelSection, isShown: hasKernels },
  { id: "ranges", name: "Ranges", make: rangesSection, isShown: hasRanges },
  { id: "timeline", name: "Timeline", make: timelineSection, isShown: (model) => whyNoTimeline(model) === null },
  { id: "drift", name: "Drift", make: driftSection, isShown: (model) => whyNoDrift(model) === null },
  { id: "tables", name: "Tables", make: tablesSection, isShown: hasKernels },
  { id: "methods", name: "Methods", make: methodsSection, isShown: (model) => Boolean(model.data.evaluation) },
  { id: "session", name: "Session", make: sessionSection },
];

// Returns the sections of a page. A comparison opens with what changed. Then come what the GPU did and how the run is
// sampled, and then the details.
export const sectionsOf = (model: Model): Section[] => all.filter((section) => section.isShown?.(model) ?? true);
