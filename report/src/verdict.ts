// SPDX-License-Identifier: Apache-2.0
//
// Describes in words whether the bound can be trusted. Each line is a fact from the session's files. The verdict is the
// worst level of the lines.

import { count, duration, none, percent, plural, tidy, times, visible } from "./format";
import { isDisabled, type Model } from "./model";

export type Level = "good" | "note" | "care" | "bad";

export interface Line {
  level: Level;
  text: string;
  why: string;
}

export interface Verdict {
  level: Level;
  headline: string;
  lines: Line[];
}

const shownError = (ratio: number) => percent(ratio).replace("<", "less than");
const asChosen = (ratio: number | null) => tidy(percent(ratio));
const worst: Level[] = ["bad", "care", "note", "good"];
const some = (value: unknown): value is number => typeof value === "number" && value > 0;

// A bound above the requested bound is still valid, but above twice the requested bound, it is not useful.
function aboveAsked(bound: number, asked: number): Level {
  return bound > 2 * asked ? "bad" : "care";
}

// Returns whether a ratio exceeds the certified bound by more than a rounding error.
const exceedsCertified = (model: Model, ratio: number | null | undefined) =>
  typeof ratio === "number" && model.certified !== null && ratio > model.certified + 1e-9;

// Returns whether the stated bound is the observed error.
function isObservedError(model: Model): boolean {
  return model.bound !== null && exceedsCertified(model, model.data.plan?.totals?.observed_error);
}

// Describes what the bound covers.
function coverage(model: Model): string {
  const { bound, certified, confidence } = model;
  if (isObservedError(model)) {
    return `The observed error exceeds the certified bound, ${percent(certified)}, so the bound is the observed error.`;
  }
  // The plan is merged, so its observed error is unknown.
  if (exceedsCertified(model, bound)) {
    return "The observed errors of some sessions exceed their certified bounds, so the bound is larger than the certified " +
      `bound, ${percent(certified)}.`;
  }
  const sure = confidence === null ? "" : ` at ${asChosen(confidence)} confidence`;
  return `The bound covers the sampling error${sure}, plus the uncovered time and the bias of joined launches in full.`;
}

function boundLines(model: Model): Line[] {
  const { bound, asked, confidence } = model;
  // An observed error is a fact and has no confidence.
  const sure = confidence === null || isObservedError(model) ? "" : ` at ${asChosen(confidence)} confidence`;
  if (bound === null) {
    return [{ level: "care", text: "No bound is stated.", why: model.data.plan?.options?.["selection"] === "first"
      ? "The first launches of each cluster are not a random sample, so their error is unknown."
      : "The session ended before samples were allocated." }];
  }
  if (asked !== null && bound > asked * (1 + 1e-9)) {
    return [{ level: aboveAsked(bound, asked), text: `The bound is ${percent(bound)}, above the requested ${asChosen(asked)}.`,
      why: `${coverage(model)} A longer run or a second pass can lower it.` }];
  }
  const against = asked === null ? "" : `, within the requested ${asChosen(asked)}`;
  return [{ level: "good", text: `The error of the total is ${`at most ${percent(bound)}`.replace("at most <", "less than")}${sure}${against}.`,
    why: coverage(model) }];
}

function errorLines(model: Model): Line[] {
  const totals = model.data.plan?.totals;
  const error = totals?.observed_error;
  if (!totals) return [];
  if (typeof error !== "number") {
    return [{ level: "note", text: "The observed error of this run is unknown.", why: some(totals.imputed)
      ? "Perturbed launches are imputed, so there is no exact total to compare with."
      : "The session does not contain an exact total to compare with." }];
  }
  const text = `The observed error of the total is ${shownError(error)}`;
  const known = "It is known because every recorded launch was timed." + calibrated(model);
  const { asked, certified } = model;
  if (isObservedError(model)) {
    return [{ level: "care", text: `${text}, above the certified bound of ${percent(certified)}.`,
      why: `The stated bound is the observed error. ${known} Errors of other metrics are unknown.` }];
  }
  if (asked !== null && error > asked) {
    return [{ level: "care", text: `${text}, more than requested.`,
      why: "The bound allows this. " + known + " Other metrics may have similar errors." }];
  }
  return [{ level: "good", text: `${text}.`, why: known }];
}

// Describes the error with the plan's calibrated weights.
function calibrated(model: Model): string {
  const plan = model.data.plan;
  const estimate = plan?.totals?.calibrated_estimate_ns;
  if (typeof estimate !== "number" || !(model.duration > 0) || plan?.options?.["weights"] === "plain") return "";
  return ` With the plan's calibrated weights it is ${shownError(Math.abs(estimate / model.duration - 1))}.`;
}

function lossLines(model: Model): Line[] {
  const totals = model.data.plan?.totals ?? {};
  const overview = model.data.overview;
  const lines: Line[] = [];
  const dropped = totals.dropped ?? overview?.dropped;
  const gaps = totals.gaps ?? overview?.gaps;
  if (some(dropped)) {
    const share = dropped / (dropped + model.launches);
    lines.push({ level: share > 0.01 ? "bad" : "care", text: `${plural(dropped, "launch record")} were dropped, ` +
      `${percent(share)} of all.`, why: "No figure on this page includes them, not even the bound. The reasons are under Losses, at the end of this page." });
  }
  if (some(gaps)) {
    lines.push({ level: "care", text: `${plural(gaps, "gap")} of unknown size.`,
      why: "Whole buffers were dropped, or another profiler used CUPTI. The number of missing launches is unknown." });
  }
  if (some(totals.uncovered_fraction)) {
    lines.push({ level: "care", text: `${percent(totals.uncovered_fraction)} of the time is in clusters without a sample.`,
      why: "The bound includes this time in full. A second pass can capture these clusters: mask.ndjson lists them as top_up." });
  }
  if (some(totals.joined_fraction)) {
    lines.push({ level: "note", text: `${percent(totals.joined_fraction)} of the time is in joined launches.`,
      why: "No sample was drawn from these launches; the samples of the other launches of their cluster represent them. " +
        "The bound includes the bias in full. Intervals of other metrics do not cover it." });
  }
  lines.push(...graphLines(model));
  if (some(totals.imputed)) {
    lines.push({ level: "note", text: `${plural(totals.imputed, "launch", "launches")} are imputed ` +
      `(${duration(totals.imputed_duration_ns ?? null)}).`, why: "Captures perturbed these launches, so each is assigned the mean of its context." });
  }
  if (some(totals.native_unknown)) {
    lines.push({ level: "care", text: `${plural(totals.native_unknown, "launch", "launches")} have no unperturbed counterpart.`,
      why: "All launches of their kernels were perturbed, so their recorded durations are used, which are too long." });
  }
  if (some(totals.zero_duration)) {
    const share = totals.zero_duration / Math.max(1, model.invocations);
    lines.push({ level: share > 0.01 ? "care" : "note",
      text: `${plural(totals.zero_duration, "launch", "launches")} were recorded with 0 ns.`,
      why: "The profiler rounded their durations, so these kernels have too little weight." });
  }
  const paused = model.data.session?.counters?.["paused"];
  if (some(paused)) {
    lines.push({ level: "note", text: `${plural(paused, "launch was", "launches were")} not recorded, because the program paused recording.`,
      why: "They are not part of the plan, of its bound or of any figure. A pause looks like idle time of the GPU." });
  }
  if (some(totals.unobserved_intervals)) {
    lines.push({ level: "note", text: `Recording was off ${plural(totals.unobserved_intervals, "time", "times")}.`,
      why: "The launches of these times are not known. They are not part of the plan, of its bound or of any figure." });
  }
  if (some(totals.unobserved_launches)) {
    lines.push({ level: "note",
      text: `${plural(totals.unobserved_launches, "launch was", "launches were")} counted and not observed.`,
      why: "They belong to earlier windows, or recording was paused (--delay, --count-while-off). No figure contains them." });
  }
  if (some(totals.graph_launches)) {
    lines.push({ level: "note", text: `${plural(totals.graph_launches, "graph launch", "graph launches")} were timed as one each.`,
      why: "This level does not distinguish the kernels of a graph." });
  }
  if (some(totals.excluded_invocations)) {
    lines.push({ level: "note", text: `${plural(totals.excluded_invocations, "launch", "launches")} are excluded by --exclude ` +
      `(${duration(totals.excluded_duration_ns ?? null)}).`, why: "Totals and bounds do not include them." });
  }
  return lines;
}

// Describes graph launches at level gate, as stemtap's summary does (src/model/graph_launches.cpp).
function graphLines(model: Model): Line[] {
  const launches = model.data.session?.counters?.losses?.["graph_launches"];
  const devices = model.data.session?.devices ?? [];
  const ofGraphs = devices.reduce((sum, device) => sum + (device.graph_duration_ns ?? 0), 0);
  const share = ofGraphs / Math.max(1, devices.reduce((sum, device) => sum + device.duration_ns, 0));
  if (!some(launches) || share < 0.01) return [];
  return [{ level: "care", text: `Kernels of ${plural(launches, "graph launch", "graph launches")} ` +
    `(${percent(share)} of the time) cannot be captured one by one.`,
    why: "The bound counts those without another sample in full. Use --level graph, or run without graphs." }];
}

function processLines(model: Model): Line[] {
  const lines: Line[] = [];
  const { session, overview, plan } = model.data;
  const processes = session?.processes ?? overview?.processes ?? [];
  for (const process of processes) {
    const who = `${visible(process.program ?? "") || "a process"} (${process.pid})`;
    if (isDisabled(process)) {
      lines.push({ level: "bad", text: `${who} was not recorded.`,
        why: visible(process.reason ?? "") || "The reason is unknown." });
    } else if (process.state === "recording" && overview?.state !== "running" && !session?.snapshot) {
      lines.push({ level: "care", text: `${who} did not shut down cleanly.`,
        why: "It was killed, or called _exit or exec. Its last launches may be missing." });
    } else if (process.reason) {
      lines.push({ level: "note", text: `${who}: ${visible(process.reason)}`, why: "Reported by the process." });
    }
  }
  if (session && some(session.signal)) {
    lines.push({ level: "care", text: `The program was ended by signal ${session.signal}.`, why: "The run may be incomplete." });
  } else if (session && some(session.exit_code)) {
    lines.push({ level: "care", text: `The program failed with exit code ${session.exit_code}.`,
      why: "The run may be incomplete." });
  }
  if (overview?.state === "running" && plan) {
    lines.push({ level: "care", text: "The overview was written while the session was running.",
      why: "Charts drawn from it may end before the plan does." });
  }
  for (const warning of session?.warnings ?? []) {
    lines.push({ level: "care", text: visible(String(warning)), why: "Warning of the session." });
  }
  return lines;
}

export function judge(model: Model): Verdict {
  const totals = model.data.plan?.totals;
  const lines: Line[] = [];
  if (!model.data.plan) {
    lines.push({ level: "bad", text: "There is no plan.", why: "The session is still running, or was killed before it " +
      "wrote a plan. Nothing can be exported or extrapolated." });
  } else if (model.invocations === 0) {
    lines.push({ level: "bad", text: "No launch was recorded.", why: "There is nothing to sample." });
  } else if (!some(totals?.samples)) {
    lines.push({ level: "bad", text: "The plan has no samples.", why: "Nothing was captured." });
  } else {
    lines.push(...boundLines(model), ...errorLines(model));
  }
  lines.push(...lossLines(model), ...processLines(model));
  lines.sort((a, b) => worst.indexOf(a.level) - worst.indexOf(b.level));
  const careful = lines.filter((line) => line.level === "care" || line.level === "bad").length;
  const level = lines[0]?.level === "note" ? "good" : (lines[0]?.level ?? "care");
  const headline = level === "bad" ? "Do not rely on the plan yet"
    : level === "care" ? `Be careful: ${plural(careful, "issue")}` : "You can trust the bound";
  return { level, headline, lines };
}

export interface Tile {
  name: string;
  value: string;
  detail: string;
  level: Level;
}

export function tiles(model: Model): Tile[] {
  const t = model.data.plan?.totals ?? {};
  const { bound, asked, confidence } = model;
  const dropped = t.dropped ?? model.data.overview?.dropped;
  const gaps = t.gaps ?? model.data.overview?.gaps;
  const empty = model.invocations === 0; // figures of a plan without launches are meaningless
  return [
    { name: "Less to trace", value: some(t.speedup) ? times(t.speedup) : none, level: some(t.speedup) ? "good" : "care",
      detail: (some(t.samples) ? `${duration(t.sampled_duration_ns)} to trace in ${plural(t.samples, "sample")}` : "no sample") +
        `, of ${duration(model.duration)} in ${plural(model.invocations, "launch", "launches")}` },
    { name: "Error bound", value: empty ? none : percent(bound),
      level: empty ? "note" : bound === null ? "care" : asked !== null && bound > asked * (1 + 1e-9) ? aboveAsked(bound, asked) : "good",
      detail: isObservedError(model) ? `the observed error; certified bound: ${percent(model.certified)}`
        : asked === null ? "the requested bound is unknown" : `requested: ${asChosen(asked)}${confidence === null ? "" : ` at ${asChosen(confidence)} confidence`}` },
    { name: "Observed error", value: empty ? none : percent(t.observed_error),
      level: empty || typeof t.observed_error !== "number" ? "note"
        : isObservedError(model) || t.observed_error > Math.min(bound ?? Infinity, asked ?? Infinity) ? "care" : "good",
      detail: empty ? "no launch was recorded" : typeof t.observed_error === "number" ? "of this run's total, plain weights"
        : some(t.imputed) ? "unknown: launches were perturbed" : "unknown" },
    { name: "Uncovered time", value: empty ? none : percent(t.uncovered_fraction),
      level: some(t.uncovered_fraction) ? "care" : t.uncovered_fraction === 0 && !empty ? "good" : "note",
      detail: "in clusters without a sample" },
    { name: "Dropped records", value: count(dropped), level: some(dropped) || some(gaps) ? "care" : dropped === 0 ? "good" : "note",
      detail: typeof gaps === "number" ? `and ${plural(gaps, "gap")} of unknown size` : "gaps are unknown" },
  ];
}
