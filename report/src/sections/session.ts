// SPDX-License-Identifier: Apache-2.0

import type { Context } from "../context";
import { h, type Child } from "../dom";
import { plainTable } from "../figure";
import { count, duration, moment, none, shellWord, visible } from "../format";
import type { Options } from "../types";

// The names are from src/shm/loss.h; docs/formats/session.md describes them.
const losses = new Map<string, [string, string]>([
  ["ring_full", ["records", "the collector did not keep up"]],
  ["no_timestamps", ["records", "CUPTI's device buffers were exhausted: start and end are 0"]],
  ["bad_timestamps", ["records", "impossible times: a clock was changed, or another profiler replaced CUPTI's clock"]],
  ["incomplete", ["records", "still running when the process ended"]],
  ["too_many_names", ["records", "more than 65,536 kernel names, or more than 64 MiB of names"]],
  ["name_gone", ["records", "the module was unloaded before the record arrived, so the kernel's name is unknown"]],
  ["name_unwritten", ["records", "the kernel's name could not be written: the disk was full, or the program can no longer open its ring"]],
  ["cupti_dropped", ["records", "CUPTI reports that it dropped them"]],
  ["pool_exhausted", ["buffers", "no activity buffer was free"]],
  ["foreign_buffers", ["buffers", "delivered to the wrong CUPTI client"]],
  ["unread_buffers", ["buffers", "CUPTI returned an error instead of records"]],
  ["gaps", ["times", "another profiler used CUPTI, or --max-overhead stopped the recording"]],
  ["names_cut", ["names", "longer than 16,384 bytes; truncated"]],
  ["captures_denied", ["captures", "not made; the credit was refunded"]],
  ["captures_throttled", ["captures", "delayed by --max-captures-per-second"]],
  ["graph_launches", ["launches", "CUDA graphs at gate level: their kernels are timed, but cannot be captured"]],
  ["ranges_refused", ["launches", "captured in a range beyond the maximum of 4,096 per process; their range is (other)"]],
  ["contexts_refused", ["contexts", "the gate table was full; their launches could not be captured"]],
  ["slots_refused", ["clusters", "the gate table had no free slot; their launches could not be captured"]],
]);

// Unknown facts are left out.
function facts(rows: [string, Child][]): HTMLElement {
  return h("dl", { class: "list" }, ...rows.filter(([, value]) => value !== none).flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

const known = (text: string | undefined): Child => (text ? h("bdi", null, visible(text)) : none);

const shown = (value: unknown): string =>
  value === null || value === undefined ? none : visible(typeof value === "string" ? value : JSON.stringify(value));

function optionRows(options: Options | undefined): [string, Child][] {
  return Object.entries(options ?? {}).map(([name, value]) =>
    [visible(name), value === "" ? none : shown(value) === none ? none : h("bdi", null, shown(value))]);
}

const block = (title: string, ...children: Child[]) =>
  h("div", { class: title === "Processes" ? "panel whole" : "panel" }, h("h3", null, title), ...children);

export function sessionSection({ model }: Context): HTMLElement {
  const { session, plan, overview } = model.data;
  const host = session?.host;
  const elapsed = session?.elapsed_s ?? overview?.elapsed_s;
  const blocks: (HTMLElement | null)[] = [];
  blocks.push(block("Run", facts([
    ["name", known(model.folder)],
    ["mode", visible(model.mode) || none],
    ["command", model.command.length > 0 ? h("code", null, visible(model.command.map(shellWord).join(" "))) : none],
    ["source", known(plan?.source)],
    ["started", moment(overview?.started_unix_ms)],
    ["duration", typeof elapsed === "number" ? duration(elapsed * 1e9) : none],
    ["exit", session ? (session.signal ? `signal ${session.signal}` : `code ${session.exit_code ?? none}`) : none],
    ["level", visible(overview?.level ?? "") || none],
    ["actuator", visible(overview?.actuator ?? "") || none],
    ["host", host ? known([host.name, host.system, host.machine,
      host.cores ? `${host.cores} cores` : ""].filter(Boolean).join(", ")) : none],
    ["created by", visible(plan?.tool ?? session?.tool ?? model.data.tool ?? "") || none],
    ["page created", moment(model.data.made_unix_ms)],
  ])));
  const options = optionRows(plan?.options ?? session?.options);
  if (options.length > 0) blocks.push(block("Options", facts(options)));
  const completeness = session?.completeness ? h("p", null, visible(session.completeness)) : null;
  const lost = Object.entries(session?.counters?.losses ?? overview?.losses ?? {});
  for (const name of ["contexts_refused", "slots_refused"]) lost.push([name, Number(session?.counters?.[name] ?? 0)]);
  const happened = lost.filter(([, n]) => n > 0);
  if (overview || session) blocks.push(block("Losses", completeness, happened.length > 0 ? plainTable({ head: ["Loss", "Count", "Unit", "Reason"],
    rows: happened.map(([name, n]) => [visible(name), count(n), losses.get(name)?.[0] ?? none,
      losses.get(name)?.[1] ?? "unknown reason"]) })
    : h("p", null, "Nothing was dropped.")));
  const warnings = session?.warnings ?? [];
  if (warnings.length > 0) {
    blocks.push(block("Warnings", h("ul", { class: "warnings", tabindex: 0, "aria-label": "Warnings" }, ...warnings.map((w) =>
      h("li", null, h("bdi", null, visible(String(w))))))));
  }
  const processes = session?.processes ?? [];
  if (processes.length > 0) {
    const paused = processes.some((p) => (p.paused ?? 0) > 0);
    blocks.push(block("Processes", plainTable({ head: ["Process", "Program", "State", "Seen", "Kept", ...(paused ? ["Paused"] : []), "Captured", "CUPTI",
      "Driver", "Cost in threads", "Cost in background", "Remark"], rows: processes.map((p) => [p.pid ? String(p.pid) : none,
      h("bdi", null, visible(p.program ?? "")), visible(p.state ?? "") || none, count(p.seen), count(p.kept), ...(paused ? [count(p.paused)] : []), count(p.launches_captured),
      shown(p.cupti_version), shown(p.driver_version), duration(p.cost?.program_ns), duration(p.cost?.background_ns),
      h("bdi", null, visible(p.reason ?? "") || none)]) })));
  }
  return h("section", { id: "session", "aria-labelledby": "h-session" }, h("h2", { id: "h-session" }, "The session"),
    h("div", { class: "blocks" }, ...blocks));
}
