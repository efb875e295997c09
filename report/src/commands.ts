// SPDX-License-Identifier: Apache-2.0
//
// Commands for the next step: export the samples to a tool, measure or simulate them, and estimate the totals of the run.

import { count, plural, shellPath, shellWord } from "./format";
import { isDisabled, type Model } from "./model";

const some = (value: unknown): value is number => typeof value === "number" && value > 0;
const isMerged = (model: Model) => model.mode === "merged";
const isLive = (model: Model) => model.mode === "live";

// Returns whether the run has a profile that identifies launches. For a merged session, this depends on its sessions.
function isRecorded(model: Model): boolean {
  const sessions = model.data.session?.sessions;
  if (isMerged(model)) return Array.isArray(sessions) && sessions.every((session) => session?.mode === "replay");
  return model.mode !== "live" && model.mode !== "gate";
}

// Returns why tools that count launches cannot use the samples of a live run, like stemtap export, or "" if they can.
function whyNotPlain(model: Model, consumer: string): string {
  const { session, plan } = model.data;
  const devices = session?.devices ?? [];
  const graphKernels = devices.reduce((a, device) => a + (device.graph_kernels ?? 0), 0);
  if (some(plan?.totals?.graph_launches)) return "graphs were timed as one launch each";
  if (isMerged(model)) return "it consists of several sessions";
  const processes = new Set(devices.map(({ pid }) => pid)).size;
  if (processes > 1) return `it had ${plural(processes, "process", "processes")}`;
  if (devices.length > 1) return `it launched on ${plural(devices.length, "device")}`;
  if (session?.processes?.some(isDisabled)) return "a process was not recorded";
  return graphKernels > 0 && consumer !== "ncu" ? `${plural(graphKernels, "launch was", "launches were")} made by CUDA graphs` : "";
}

// Tools that number launches
const counting = ["accelsim", "macsim", "nvbit", "ncu", "sieve"];

// Returns the tools that can use the samples. The profile of a recorded run identifies the launches of a process; a live
// run has no profile.
export function consumersOf(model: Model): string[] {
  if (isRecorded(model)) return [...counting, "csv", "perfetto"];
  return [...counting.filter((consumer) => whyNotPlain(model, consumer) === ""), "csv"];
}

// Returns whether the user must assert with --plain-launches what session.json does not contain.
function needsPlainLaunches(model: Model, consumer: string): boolean {
  if (isRecorded(model) || consumer === "csv") return false;
  const { session } = model.data;
  return session?.mode !== "live" || !session.devices?.length ||
    session.devices.some((device) => typeof device.graph_kernels !== "number");
}

// Returns the devices of the samples if a recorded run had several devices. Tools number launches by process or device, so
// each device with samples needs a separate export.
function devicesOf(model: Model): number[] {
  if (!isRecorded(model)) return [];
  const sampled = new Set(model.samples.map(({ sample }) => sample.device));
  const known = new Set([...sampled, ...(model.data.session?.devices ?? []).map(({ device }) => device)]);
  return known.size > 1 ? [...sampled].filter((device) => device !== null).sort((a, b) => a - b) : [];
}

// Returns the commands of all devices as a loop, or the command of the only device.
function forDevices(model: Model, consumer: string, commands: (device: string) => string[]): string {
  const devices = counting.includes(consumer) ? devicesOf(model) : [];
  if (devices.length === 0) return commands("").join("\n");
  return [`for device in ${devices.join(" ")}; do`, ...commands("$device").map((command) => `  ${command}`), "done"].join("\n");
}

// Returns advice about the export command.
export function exportNote(model: Model): string {
  if (devicesOf(model).length > 0) {
    return "The run had several devices. The commands assume that each had its own process, and PROGRAM is the command of " +
      "one process. If one process used all devices, replace per-device by one.";
  }
  if (isRecorded(model)) return "";
  if (isMerged(model)) return "Tools that count launches can use one session at a time: --device N selects a device and its session.";
  const why = whyNotPlain(model, "accelsim");
  if (why !== "") return `Tracers that count launches need --profile with a profile of the same program: ${why}.`;
  return needsPlainLaunches(model, "accelsim")
    ? "--plain-launches asserts that the run was one process on one device without CUDA graphs." : "";
}

function oneExport(model: Model, consumer: string, device: string): string {
  const plain = needsPlainLaunches(model, consumer) ? " --plain-launches" : "";
  const processes = device === "" ? "" : ` --processes per-device --device ${device}`;
  const profiles = isRecorded(model) ? model.data.profiles ?? [] : [];
  const profile = profiles.length > 0 ? ` --profile ${profiles.map(shellPath).join(" ")}` : "";
  return `stemtap export --plan ${shellPath(model.planPath)}${profile}${plain}${processes} --to ${consumer}`;
}

// Returns the name of a file that the commands write. Reports of several sessions have different names.
const fileOf = (model: Model, ...parts: string[]) => [shellPath(model.folder.replace(/\.json$/, "")), ...parts].join(".");

// Suffixes of the files that tools read; the others read text.
const suffixes: Record<string, string> = { accelsim: "env", ncu: "sh", csv: "csv", perfetto: "json" };

export function exportCommand(model: Model, consumer: string): string {
  const suffix = suffixes[consumer] ?? "txt";
  const ending = suffix === consumer ? suffix : `${consumer}.${suffix}`;
  return forDevices(model, consumer, (device) => [oneExport(model, consumer, device) + (device === ""
    ? ` -o ${fileOf(model, ending)}`
    : ` -o ${fileOf(model, consumer, device, suffix)} --weights-csv ${fileOf(model, "ids", device, "csv")}`)]);
}

// Each device has a separate table of ids, which the results of ncu do not need: ncu numbers what it profiled.
export function extrapolateCommand(model: Model, consumer: string): string {
  return forDevices(model, consumer, (device) => {
    const option = consumer === "ncu" ? `--device ${device}` : `--ids ${fileOf(model, "ids", device, "csv")}`;
    return [`stemtap extrapolate --plan ${shellPath(model.planPath)} --results RESULTS` + (device === "" ? "" : `.${device} ${option}`)];
  });
}

// Metrics that Nsight Compute collects in one pass on every recent GPU
const fewMetrics = "smsp__inst_executed.sum,dram__bytes.sum";

// Returns whether the program is the program of stemtap demo.
const isDemo = ({ command }: Model) => /(^|\/)stemtap_play$/.test(command[0] ?? "");

// Returns the commands that measure hardware counters of the samples with Nsight Compute, with an explanation, or why the
// commands cannot be used.
export function counterCommands(model: Model): { commands: string; note: string } {
  if (isDemo(model)) {
    return { commands: "", note: "This run is a demonstration: its program runs only on the simulated GPU, so Nsight Compute cannot measure it." };
  }
  if (!consumersOf(model).includes("ncu")) {
    return { commands: "", note: `ncu counts launches, so it needs --profile with a profile of the same program: ${whyNotPlain(model, "ncu")}.` };
  }
  const program = model.command.length > 0 && !isMerged(model) && isLive(model) ? model.command.map(shellWord).join(" ") : "PROGRAM";
  const commands = forDevices(model, "ncu", (device) => {
    const of = device === "" ? [] : [device];
    const script = fileOf(model, "ncu", ...of, "sh");
    const report = ["counters", ...of].join(".");
    return [`${oneExport(model, "ncu", device)} -o ${script}`,
      `NCU_OPTIONS='--metrics ${fewMetrics}' REPORT=${report} sh ${script} ${program}`,
      `stemtap extrapolate --plan ${shellPath(model.planPath)}${device === "" ? "" : ` --device ${device}`} --results ${report}.*.csv`];
  });
  return { commands, note: `The script runs the program once for each kernel or series of launches, at most ${count(model.samples.length)} times; ` +
    "its first line has the number. Each run writes one report, and its table." +
    (program === "PROGRAM" ? " PROGRAM is the command of the recorded run, which this page does not contain." : "") };
}

// Returns the command that makes the plan of a profile, which has no file, or "" if there is a file.
export function planCommand({ profilePath, planPath }: Model): string {
  return profilePath === "" ? "" : `stemtap plan ${shellPath(profilePath)} -o ${shellPath(planPath)}`;
}

// Returns the command that makes a session of a profile, or "" if the page is not about a profile.
export function replayCommand({ profilePath }: Model): string {
  return profilePath === "" ? "" : `stemtap replay ${shellPath(profilePath)}`;
}

// Returns the command that repeats the run with launches separated by shape, or "" if the page does not contain what ran.
export function separateShapesCommand(model: Model): string {
  const option = "--group-by launch";
  if (isLive(model) && model.command.length > 0) return `stemtap run ${option} -- ${model.command.map(shellWord).join(" ")}`;
  if (model.profilePath !== "") return `stemtap plan ${option} ${shellPath(model.profilePath)}`;
  const source = model.data.plan?.source ?? "";
  const isOneFile = source !== "" && !source.includes(", "); // several are the ranks of a run
  return model.mode === "replay" && isOneFile ? `stemtap replay ${option} ${shellPath(source)}` : "";
}
