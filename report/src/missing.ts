// SPDX-License-Identifier: Apache-2.0
//
// Why parts of the page are missing: the session, or the plan alone, does not contain their data. A part without data is
// not on the page; one line near the end lists these parts.

import { isPlanAlone, type Model } from "./model";

type Why = string | null; // null if the data exist

const noLaunch = "no launch was recorded";
const noClock = "machines do not share a clock"; // merged sessions

const noSession = (model: Model) => (isPlanAlone(model) ? "a plan has no session" : "the session has no session.json");
const noOverview = (model: Model) => (isPlanAlone(model) ? "a plan has no session" : "the session has no overview.json");

export function whyNoKernels(model: Model): Why {
  if (model.kernels.length > 0) return null;
  return model.data.plan || model.data.overview ? noLaunch : "the session has neither plan.json nor overview.json";
}

export function whyNoActivity(model: Model): Why {
  if (model.activity) return null;
  if (!model.data.overview) return noOverview(model);
  if (model.invocations === 0) return noLaunch;
  if (model.mode === "merged") return noClock;
  return "the launches have no start times, or an old version of stemtap recorded them";
}

export function whyNoDevices(model: Model): Why {
  if ((model.data.session?.devices ?? []).length > 0) return null;
  if (!model.data.session) return noSession(model);
  return model.invocations === 0 ? noLaunch : "session.json lists no devices";
}

export function whyNoHistograms(model: Model): Why {
  if (model.kernels.some((kernel) => kernel.histogram.length > 0)) return null;
  if (!model.data.overview) return noOverview(model);
  return model.invocations === 0 ? noLaunch : "overview.json has none";
}

export function whyNoTimeline(model: Model): Why {
  if (model.events.length > 0) return null;
  if (model.timeline.length === 0) return model.data.overview ? "overview.json has no timeline" : noOverview(model);
  return model.invocations === 0 ? noLaunch : null;
}

export function whyNoDrift(model: Model): Why {
  if (!model.data.overview) return noOverview(model);
  if (model.invocations === 0) return noLaunch;
  const hasSlices = (model.slices?.count ?? 0) > 0 && model.kernels.some((kernel) => kernel.slices.length > 0);
  return hasSlices ? null : model.mode === "merged" ? noClock : "the launches have no start times";
}

// Returns the missing parts with the same reason, for each reason.
export function missingParts(model: Model): { why: string; parts: string[] }[] {
  const all: [part: string, why: Why][] = [["kernels", whyNoKernels(model)], ["activity", whyNoActivity(model)],
    ["idle time and devices", whyNoDevices(model)], ["histograms", whyNoHistograms(model)], ["timeline", whyNoTimeline(model)],
    ["drift", whyNoDrift(model)], ["losses and processes", model.data.session ? null : noSession(model)]];
  const groups = new Map<string, string[]>();
  for (const [part, why] of all) {
    if (why !== null) groups.set(why, [...(groups.get(why) ?? []), part]);
  }
  return [...groups].map(([why, parts]) => ({ why, parts }));
}

// Returns the line of the page that lists the missing parts, or an empty text.
export function missingText(model: Model): string {
  const groups = missingParts(model);
  if (groups.length === 0) return "";
  return `Not on this page: ${groups.map(({ why, parts }) => `${parts.join(", ")}: ${why}`).join("; ")}.`;
}
