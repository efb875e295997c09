// SPDX-License-Identifier: Apache-2.0
//
// Whether the bound can be trusted, in plain words, and what to do next. Each line is one fact of the session's
// files; the verdict is the worst of them.

import { count, duration, none, percent, plural, shellWord, tidy, times, visible } from "./format";
import type { Model } from "./model";

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

const offBy = (ratio: number) => percent(ratio).replace("<", "less than");
const asChosen = (ratio: number | null) => tidy(percent(ratio));
const worst: Level[] = ["bad", "care", "note", "good"];
const some = (value: unknown): value is number => typeof value === "number" && value > 0;

// A bound that is not met holds all the same. Beyond twice what was asked for it answers another question.
function aboveAsked(bound: number, asked: number): Level {
  return bound > 2 * asked ? "bad" : "care";
}

// Whether a ratio exceeds the certified bound by more than rounding.
const exceedsCertified = (model: Model, ratio: number | null | undefined) =>
  typeof ratio === "number" && model.certified !== null && ratio > model.certified + 1e-9;

// Whether the stated bound is the observed error.
function isObservedError(model: Model): boolean {
  return model.bound !== null && exceedsCertified(model, model.data.plan?.totals?.observed_error);
}

// What the bound covers.
function coverage(model: Model): string {
  const { bound, certified, confidence } = model;
  if (isObservedError(model)) {
    return `The observed error exceeds the certified bound, ${percent(certified)}, so the bound is the observed error.`;
  }
  // A merged plan whose own observed error is not known.
  if (exceedsCertified(model, bound)) {
    return "The observed errors of some sessions exceed their certified bounds, so the bound is larger than the certified " +
      `bound, ${percent(certified)}.`;
  }
  const sure = confidence === null ? "" : ` at ${asChosen(confidence)} confidence`;
  return `The bound covers the sampling error${sure}, plus the uncovered time and the bias of joined launches in full.`;
}

function boundLines(model: Model): Line[] {
  const { bound, asked, confidence } = model;
  // An observed error is a fact about this run: it has no confidence.
  const sure = confidence === null || isObservedError(model) ? "" : ` at ${asChosen(confidence)} confidence`;
  if (bound === null) {
    return [{ level: "care", text: "No bound is stated.", why: model.data.plan?.options?.["selection"] === "first"
      ? "The first launches of each cluster are not a random sample: nothing can be said of their error."
      : "Nothing was allocated before the session ended, so there is no number to trust." }];
  }
  if (asked !== null && bound > asked * (1 + 1e-9)) {
    return [{ level: aboveAsked(bound, asked), text: `The bound is ${percent(bound)}, above the ${asChosen(asked)} asked for.`,
      why: `${coverage(model)} A longer run or a second pass can lower it.` }];
  }
  const against = asked === null ? "" : `, within the ${asChosen(asked)} asked for`;
  return [{ level: "good", text: `The total is off by ${`at most ${percent(bound)}`.replace("at most <", "less than")}${sure}${against}.`,
    why: coverage(model) }];
}

function errorLines(model: Model): Line[] {
  const totals = model.data.plan?.totals;
  const error = totals?.observed_error;
  if (!totals) return [];
  if (typeof error !== "number") {
    return [{ level: "note", text: "The error of this very run is not known.", why: some(totals.imputed)
      ? "Launches that a tracer slowed count with the mean of their like, so there is no exact total to compare with."
      : "The session does not hold an exact total to compare with." }];
  }
  const text = `The estimate of this run's time is off by ${offBy(error)}`;
  const known = "Known, since every launch on record was timed." + calibrated(model);
  const { asked, certified } = model;
  if (isObservedError(model)) {
    return [{ level: "care", text: `${text}, above the certified bound of ${percent(certified)}.`,
      why: `The stated bound is the observed error. ${known} Errors of other metrics are not known.` }];
  }
  if (asked !== null && error > asked) {
    return [{ level: "care", text: `${text}, more than was asked for.`,
      why: "The bound says that it may be. " + known + " Other metrics may be off alike." }];
  }
  return [{ level: "good", text: `${text}.`, why: known }];
}

// What the weights in force make of it.
function calibrated(model: Model): string {
  const plan = model.data.plan;
  const estimate = plan?.totals?.calibrated_estimate_ns;
  if (typeof estimate !== "number" || !(model.duration > 0) || plan?.options?.["weights"] === "plain") return "";
  return ` The plan's weights are calibrated: with them it is off by ${offBy(Math.abs(estimate / model.duration - 1))}.`;
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
      `${percent(share)} of all.`, why: "They are part of no figure here, the bound included. Losses, at the end of this page, has the reasons." });
  }
  if (some(gaps)) {
    lines.push({ level: "care", text: `${plural(gaps, "gap")} of unknown size.`,
      why: "Whole buffers were lost, or another profiler had CUPTI: nobody knows how many launches are missing." });
  }
  if (some(totals.uncovered_fraction)) {
    lines.push({ level: "care", text: `${percent(totals.uncovered_fraction)} of the time is in clusters without a sample.`,
      why: "The bound counts that time in full. A second pass can capture them: mask.ndjson lists them as top_up." });
  }
  if (some(totals.joined_fraction)) {
    lines.push({ level: "note", text: `${percent(totals.joined_fraction)} of the time is in joined launches.`,
      why: "No sample was drawn from these launches; the samples of the other launches of their cluster stand for them. " +
        "The bound includes the bias in full. Intervals of other metrics do not cover it." });
  }
  if (some(totals.imputed)) {
    lines.push({ level: "note", text: `${plural(totals.imputed, "launch", "launches")} count with the mean of their like ` +
      `(${duration(totals.imputed_duration_ns ?? null)}).`, why: "A tracer slowed them, so their own time says nothing." });
  }
  if (some(totals.native_unknown)) {
    lines.push({ level: "care", text: `${plural(totals.native_unknown, "launch", "launches")} never ran without a tracer.`,
      why: "They are of kernels with no native launch and count as recorded, which is slower than they are." });
  }
  if (some(totals.zero_duration)) {
    const share = totals.zero_duration / Math.max(1, model.invocations);
    lines.push({ level: share > 0.01 ? "care" : "note",
      text: `${plural(totals.zero_duration, "launch", "launches")} were recorded with 0 ns.`,
      why: "The profiler rounded: kernels that short weigh less than they should." });
  }
  if (some(totals.graph_launches)) {
    lines.push({ level: "note", text: `${plural(totals.graph_launches, "graph launch", "graph launches")} were timed as one each.`,
      why: "The kernels inside a graph are not told apart at this level." });
  }
  if (some(totals.excluded_invocations)) {
    lines.push({ level: "note", text: `${plural(totals.excluded_invocations, "launch", "launches")} are left out by --exclude ` +
      `(${duration(totals.excluded_duration_ns ?? null)}).`, why: "They are part of no total and no bound." });
  }
  return lines;
}

function processLines(model: Model): Line[] {
  const lines: Line[] = [];
  const { session, overview, plan } = model.data;
  const processes = session?.processes ?? overview?.processes ?? [];
  for (const process of processes) {
    const who = `${visible(process.program ?? "") || "a process"} (${process.pid})`;
    if (process.state === "stood_down") {
      lines.push({ level: "bad", text: `Nothing was recorded of ${who}.`,
        why: visible(process.reason ?? "") || "It gave no reason." });
    } else if (process.state === "recording" && overview?.state !== "running") {
      lines.push({ level: "care", text: `${who} ended without saying goodbye.`,
        why: "It was killed, or called _exit or exec: what it launched last may be missing." });
    } else if (process.reason) {
      lines.push({ level: "note", text: `${who}: ${visible(process.reason)}`, why: "A remark of the process itself." });
    }
  }
  if (session && some(session.signal)) {
    lines.push({ level: "care", text: `The program was ended by signal ${session.signal}.`, why: "The run may not be whole." });
  } else if (session && some(session.exit_code)) {
    lines.push({ level: "care", text: `The program failed with exit code ${session.exit_code}.`,
      why: "The run may not be whole." });
  }
  if (overview?.state === "running" && plan) {
    lines.push({ level: "care", text: "The last overview is of a session that was still running.",
      why: "Charts drawn from it may end before the plan does." });
  }
  for (const warning of session?.warnings ?? []) {
    lines.push({ level: "care", text: visible(String(warning)), why: "A warning of the session." });
  }
  return lines;
}

export function judge(model: Model): Verdict {
  const totals = model.data.plan?.totals;
  const lines: Line[] = [];
  if (!model.data.plan) {
    lines.push({ level: "bad", text: "There is no plan.", why: "The session still runs, or was killed before it " +
      "wrote one: nothing here can be exported or extrapolated." });
  } else if (model.invocations === 0) {
    lines.push({ level: "bad", text: "No launch was recorded.", why: "There is nothing to sample, and nothing to say." });
  } else if (!some(totals?.samples)) {
    lines.push({ level: "bad", text: "The plan holds no sample.", why: "Nothing was captured, so nothing can be said." });
  } else {
    lines.push(...boundLines(model), ...errorLines(model));
  }
  lines.push(...lossLines(model), ...processLines(model));
  lines.sort((a, b) => worst.indexOf(a.level) - worst.indexOf(b.level));
  const careful = lines.filter((line) => line.level === "care" || line.level === "bad").length;
  const level = lines[0]?.level === "note" ? "good" : (lines[0]?.level ?? "care");
  const headline = level === "bad" ? "Do not rely on it yet"
    : level === "care" ? `Be careful: ${plural(careful, "thing")} to know` : "You can trust the bound";
  return { level, headline, lines };
}

const isMerged = (model: Model) => model.mode === "merged";

// Whether the run's profile tells which launch is which. What is merged is as its sessions are.
function isRecorded(model: Model): boolean {
  const sessions = model.data.session?.sessions;
  if (isMerged(model)) return Array.isArray(sessions) && sessions.every((session) => session?.mode === "replay");
  return model.mode !== "live" && model.mode !== "gate";
}

// What keeps tools that count launches from the samples of a live run, as stemtap export sees it; "" where nothing does.
function whyNotPlain(model: Model, consumer: string): string {
  const { session, plan } = model.data;
  const devices = session?.devices ?? [];
  const ofGraphs = devices.reduce((a, device) => a + (device.graph_kernels ?? 0), 0);
  if (some(plan?.totals?.graph_launches)) return "graphs were timed as one launch each";
  if (isMerged(model)) return "it was several sessions";
  const processes = new Set(devices.map(({ pid }) => pid)).size;
  if (processes > 1) return `it was ${plural(processes, "process", "processes")}`;
  if (devices.length > 1) return `it launched on ${plural(devices.length, "device")}`;
  if (session?.processes?.some((process) => process.state === "stood_down")) return "a process was not recorded";
  return ofGraphs > 0 && consumer !== "ncu" ? `${plural(ofGraphs, "launch was", "launches were")} made by CUDA graphs` : "";
}

// To whom the samples can be handed. Which launch is which of a process is looked up in a recorded run; of a live one there
// is no record.
export function consumersOf(model: Model): string[] {
  const counting = ["accelsim", "macsim", "nvbit", "ncu", "sieve"];
  if (isRecorded(model)) return [...counting, "csv", "roaring", "perfetto"];
  return [...counting.filter((consumer) => whyNotPlain(model, consumer) === ""), "csv", "roaring"];
}

// That a run was plain is the user's to say where session.json does not.
function plainToBeSaid(model: Model, consumer: string): boolean {
  if (isRecorded(model) || ["csv", "roaring"].includes(consumer)) return false;
  const { session } = model.data;
  return session?.mode !== "live" || !session.devices?.length ||
    session.devices.some((device) => typeof device.graph_kernels !== "number");
}

// What to know of the command before it is run.
export function exportNote(model: Model): string {
  const devices = new Set(model.data.session?.devices?.map(({ device }) => device)).size;
  if (isRecorded(model)) {
    return devices > 1 ? `The run had ${plural(devices, "device")}: tracers want to be told with --processes whether one ` +
      "process drove them all, or each its own, and with --device which of them." : "";
  }
  if (isMerged(model)) return "Tools that count launches take one session at a time: --device N names a device, and with it its session.";
  const why = whyNotPlain(model, "accelsim");
  if (why !== "") return `For tracers that count launches it takes a --profile recorded of the same program: ${why}.`;
  return plainToBeSaid(model, "accelsim")
    ? "--plain-launches says that it was one process on one device without CUDA graphs." : "";
}

export function exportCommand(model: Model, consumer: string): string {
  const plain = plainToBeSaid(model, consumer) ? " --plain-launches" : "";
  return `stemtap export --plan ${shellWord(model.planFile)}${plain} --to ${consumer}`;
}

export function extrapolateCommand(model: Model): string {
  return `stemtap extrapolate --plan ${shellWord(model.planFile)} --results RESULTS`;
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
  const empty = model.invocations === 0; // a plan of no launches has figures, of nothing
  return [
    { name: "Speedup", value: some(t.speedup) ? times(t.speedup) : none, level: some(t.speedup) ? "good" : "care",
      detail: (some(t.samples) ? `${duration(t.sampled_duration_ns)} to trace in ${plural(t.samples, "sample")}` : "no sample") +
        `, of ${duration(model.duration)} in ${plural(model.invocations, "launch", "launches")}` },
    { name: "Error bound", value: empty ? none : percent(bound),
      level: empty ? "note" : bound === null ? "care" : asked !== null && bound > asked * (1 + 1e-9) ? aboveAsked(bound, asked) : "good",
      detail: isObservedError(model) ? `the observed error; certified bound: ${percent(model.certified)}`
        : asked === null ? "what was asked for is not known" : `asked: ${asChosen(asked)}${confidence === null ? "" : ` at ${asChosen(confidence)} confidence`}` },
    { name: "Observed error", value: empty ? none : percent(t.observed_error),
      level: empty || typeof t.observed_error !== "number" ? "note"
        : isObservedError(model) || t.observed_error > Math.min(bound ?? Infinity, asked ?? Infinity) ? "care" : "good",
      detail: empty ? "no launch was recorded" : typeof t.observed_error === "number" ? "of this run's total, plain weights"
        : some(t.imputed) ? "not known: a tracer slowed launches" : "not known" },
    { name: "Uncovered time", value: empty ? none : percent(t.uncovered_fraction),
      level: some(t.uncovered_fraction) ? "care" : t.uncovered_fraction === 0 && !empty ? "good" : "note",
      detail: "in clusters without a sample" },
    { name: "Lost records", value: count(dropped), level: some(dropped) || some(gaps) ? "care" : dropped === 0 ? "good" : "note",
      detail: typeof gaps === "number" ? `and ${plural(gaps, "gap")} of unknown size` : "gaps are not known" },
  ];
}
