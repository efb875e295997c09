// SPDX-License-Identifier: Apache-2.0

import type { Context } from "../context";
import { h, type Child } from "../dom";
import { plainTable } from "../figure";
import { count, duration, moment, none, percent, shellWord, visible } from "../format";
import type { Options } from "../types";

// As src/shm/loss.h has them, told in docs/formats/session.md.
const losses = new Map<string, [string, string]>([
  ["ring_full", ["records", "the collector did not keep up"]],
  ["no_timestamps", ["records", "CUPTI's device buffers were exhausted: start and end are 0"]],
  ["bad_timestamps", ["records", "end before start: the clock was stepped"]],
  ["incomplete", ["records", "still running when the process ended"]],
  ["too_many_names", ["records", "more than 65,536 kernel names"]],
  ["name_gone", ["records", "its module was unloaded before the record came"]],
  ["cupti_dropped", ["records", "CUPTI says that it dropped them"]],
  ["pool_exhausted", ["buffers", "no activity buffer was free"]],
  ["foreign_buffers", ["buffers", "went astray between CUPTI clients"]],
  ["unread_buffers", ["buffers", "CUPTI gave an error instead of its records"]],
  ["gaps", ["times", "another profiler had CUPTI, or --max-overhead ended the recording"]],
  ["names_cut", ["names", "longer than 16,384 bytes, kept cut: nothing is lost but letters"]],
  ["captures_denied", ["captures", "not made, their credit was kept"]],
  ["captures_throttled", ["captures", "put off by --max-captures-per-second"]],
  ["graph_launches", ["launches", "CUDA graphs in gate level: their kernels are timed, not gated"]],
  ["contexts_refused", ["contexts", "the gate's table had no room for them: their launches could not be captured"]],
  ["slots_refused", ["clusters", "the gate's table had no slot for them: their launches could not be captured"]],
]);

function facts(rows: [string, Child][]): HTMLElement {
  return h("dl", { class: "list" }, ...rows.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

const shown = (value: unknown): string =>
  value === null || value === undefined ? none : visible(typeof value === "string" ? value : JSON.stringify(value));

function optionRows(options: Options | undefined): [string, Child][] {
  return Object.entries(options ?? {}).map(([name, value]) =>
    [visible(name), h("bdi", null, value === "" ? none : shown(value))]);
}

const block = (title: string, ...children: Child[]) =>
  h("div", { class: title === "Processes" || title === "Devices" ? "panel whole" : "panel" }, h("h3", null, title), ...children);

export function sessionSection({ model }: Context): HTMLElement {
  const { session, plan, overview } = model.data;
  const host = session?.host;
  const elapsed = session?.elapsed_s ?? overview?.elapsed_s;
  const blocks: (HTMLElement | null)[] = [];
  blocks.push(block("Run", facts([
    ["folder", h("bdi", null, visible(model.folder) || none)],
    ["mode", visible(model.mode) || none],
    ["command", model.command.length > 0 ? h("code", null, visible(model.command.map(shellWord).join(" "))) : none],
    ["source", h("bdi", null, visible(plan?.source ?? "") || none)],
    ["began", moment(overview?.started_unix_ms)],
    ["took", typeof elapsed === "number" ? duration(elapsed * 1e9) : none],
    ["exit", session ? (session.signal ? `signal ${session.signal}` : `code ${session.exit_code ?? none}`) : none],
    ["level", visible(overview?.level ?? "") || none],
    ["actuator", visible(overview?.actuator ?? "") || none],
    ["host", host ? h("bdi", null, visible([host.name, host.system, host.machine,
      host.cores ? `${host.cores} cores` : ""].filter(Boolean).join(", "))) : none],
    ["made by", visible(plan?.tool ?? session?.tool ?? model.data.tool ?? "") || none],
    ["page made", moment(model.data.made_unix_ms)],
  ])));
  const options = optionRows(plan?.options ?? session?.options);
  blocks.push(block("Options", options.length > 0 ? facts(options) : h("p", { class: "lacks" }, "No options are on record.")));
  const lost = Object.entries(session?.counters?.losses ?? overview?.losses ?? {});
  for (const name of ["contexts_refused", "slots_refused"]) lost.push([name, Number(session?.counters?.[name] ?? 0)]);
  const happened = lost.filter(([, n]) => n > 0);
  blocks.push(block("Losses", happened.length > 0 ? plainTable({ head: ["Loss", "How many", "Of what", "Why"],
    rows: happened.map(([name, n]) => [visible(name), count(n), losses.get(name)?.[0] ?? none,
      losses.get(name)?.[1] ?? "a reason that this page does not know"]) })
    : h("p", null, overview || session ? "Nothing was lost." : "The session does not say what was lost.")));
  const warnings = session?.warnings ?? [];
  if (warnings.length > 0) {
    blocks.push(block("Warnings", h("ul", { class: "warnings", tabindex: 0, "aria-label": "Warnings" }, ...warnings.map((w) =>
      h("li", null, h("bdi", null, visible(String(w))))))));
  }
  const processes = session?.processes ?? [];
  if (processes.length > 0) {
    blocks.push(block("Processes", plainTable({ head: ["Process", "Program", "State", "Seen", "Kept", "Captured", "CUPTI",
      "Driver", "Cost in it", "Cost beside it", "Remark"], rows: processes.map((p) => [String(p.pid),
      h("bdi", null, visible(p.program ?? "")), visible(p.state ?? "") || none, count(p.seen), count(p.kept), count(p.launches_captured),
      shown(p.cupti_version), shown(p.driver_version), duration(p.cost?.program_ns), duration(p.cost?.background_ns),
      h("bdi", null, visible(p.reason ?? "") || none)]) })));
  }
  const devices = session?.devices ?? [];
  if (devices.length > 0) {
    blocks.push(block("Devices", plainTable({ head: ["Device", "Process", "Launches", "Kernel time", "Busy", "Span", "Busy share",
      "Streams"], rows: devices.map((d) => [shown(d.device), shown(d.pid), count(d.launches), duration(d.duration_ns),
      duration(d.busy_ns) + (d.busy_cut_ns ? ` to ${duration(d.busy_ns + d.busy_cut_ns)}` : ""), duration(d.span_ns), percent(d.span_ns > 0 ? d.busy_ns / d.span_ns : null),
      count((d.streams ?? []).length)]) }), h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null,
      "Busy is the time in which at least one kernel ran (a range where some came too late to be added exactly); kernel time counts kernels that run side by side each. Excluded " +
      "kernels are part of both."))));
  }
  if (!session) {
    blocks.push(h("p", { class: "lacks" }, "There is no session.json: the session did not end, or this is a plan alone."));
  }
  return h("section", { id: "session", "aria-labelledby": "h-session" }, h("h2", { id: "h-session" }, "The session"),
    h("div", { class: "blocks" }, ...blocks));
}
