// SPDX-License-Identifier: Apache-2.0
//
// Shows how busy the GPU was: over time, by the length of the gaps between kernels, and by device.

import { activityOption, activityPart, activityPoints, busyShare, idleRows, imbalance } from "../charts/activity";
import type { Context } from "../context";
import { h, type Child } from "../dom";
import { makeFigure, plainTable } from "../figure";
import { count, duration, none, percent, visible } from "../format";
import { cutNames } from "../labels";
import { whyNoActivity, whyNoDevices } from "../missing";
import { shortOf, type Model } from "../model";
import type { SessionDevice } from "../types";

const devicesOf = (model: Model): SessionDevice[] => model.data.session?.devices ?? [];
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

// The edges are powers of ten (src/model/session.h).
function gapLength(lower: number): string {
  const unit = (ns: number) => (ns >= 1e9 ? `${ns / 1e9} s` : ns >= 1e6 ? `${ns / 1e6} ms` : `${ns / 1e3} us`);
  if (lower === 0) return "under 1 us";
  return lower >= 1e9 ? "1 s and more" : `${unit(lower)} to ${unit(lower * 10)}`;
}

function gapPanels(model: Model): Child[] {
  const devices = devicesOf(model);
  const rows = idleRows(devices);
  if (rows.length === 0) return [];
  const span = sum(devices.map((d) => d.span_ns));
  const several = devices.length > 1;
  const longest = devices.flatMap((device) => (device.longest_gaps ?? []).map(([start, ns, before, after]) =>
    ({ device, start, ns, before, after }))).sort((a, b) => b.ns - a.ns).slice(0, 8);
  const nameOf = kernelNames(model, longest.flatMap(({ before, after }) => [before, after]));
  return [h("div", { class: "two" },
    h("div", { class: "panel" }, h("h3", null, "Idle time by length of the gap"), h("details", { class: "how" },
      h("summary", null, "How to read this"), h("p", null, "A gap is a time between two kernels in which no kernel ran on the device. " +
        "Many short gaps are the cost of launching kernels: fewer and larger kernels or CUDA graphs remove them. Long gaps are " +
        "waits for the host: input, synchronization, compilation. Dropped records and pauses of the recording look like gaps.")),
    plainTable({ head: ["Length of the gap", "Gaps", "Idle time", "Share of the time"], rows: rows.map((row) => [gapLength(row.lower),
      count(row.gaps), duration(row.idle), percent(span > 0 ? row.idle / span : null)]) })),
    h("div", { class: "panel" }, h("h3", null, "Longest gaps"), h("details", { class: "how" },
      h("summary", null, "How to read this"), h("p", null, "The kernels that ended right before the gap and began right after it. " +
        "The program was between their launches when the device was idle.")),
    plainTable({ head: ["After the first launch", "Length", "Kernel before", "Kernel after", ...(several ? ["Device"] : [])],
      rows: longest.map(({ device, start, ns, before, after }) => [duration(Math.max(0, start - (device.start_ns ?? start)), 6),
        duration(ns), nameOf(before), nameOf(after), ...(several ? [deviceName(model, device)] : [])]) })))];
}

const maxGapName = 32; // characters; a row has two names

// Returns a function that returns the short name of a kernel as an element.
function kernelNames(model: Model, names: (string | null | undefined)[]): (name: string | null | undefined) => Child {
  const known = [...new Set(names)].filter((name): name is string => typeof name === "string");
  const short = cutNames(known.map((name) => shortOf({ name, invocations: 0 }, model.data.brief_names?.[name])), maxGapName);
  const of = new Map(known.map((name, i) => [name, short[i]!]));
  return (name) => (typeof name === "string" ? h("bdi", { title: visible(name) }, of.get(name)) : none);
}

function deviceName(model: Model, device: SessionDevice): string {
  const name = device.device === null ? "unknown device" : `device ${device.device}`;
  const session = typeof device.session === "number" ? model.data.session?.sessions?.[device.session] : undefined;
  return session ? `${name}, ${visible(session.folder ?? "") || `session ${device.session!}`}` : name;
}

function devicePanel(model: Model): Child {
  const devices = devicesOf(model);
  if (devices.length === 0) return null;
  const isMerged = (model.data.session?.sessions ?? []).length > 0;
  const times = devices.map((d) => d.duration_ns);
  const mean = sum(times) / times.length;
  const uneven = imbalance(times);
  const difference = (ns: number) => (ns < mean ? "−" : "+") + percent(Math.abs(ns / mean - 1));
  return h("div", { class: "panel whole" }, h("h3", null, devices.length > 1 ? "Devices and ranks" : "Device"),
    uneven !== null && h("p", null, `The device with the most kernel time has ${percent(uneven)} more than the mean of the ` +
      `${devices.length} devices${isMerged ? " of all sessions" : ""}.`),
    h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null,
      "\"Busy\" is the time in which at least one kernel ran (a range if some records arrived too late to be added exactly). \"Kernel time\" adds " +
      "concurrent kernels individually. Excluded kernels are included in both. \"Against the mean\" compares the kernel time of " +
      "the devices. Kernels that wait for other devices (NCCL) hide an imbalance: the device that waits is busy too.")),
    plainTable({ head: [...(isMerged ? ["Session"] : []), "Device", "Process", "Launches", "Kernel time",
      ...(uneven === null ? [] : ["Against the mean"]), "Busy", "Span", "Busy share", "Streams"], rows: devices.map((d) => [
      ...(isMerged ? [h("bdi", null, typeof d.session === "number" ? `${d.session}: ${visible(model.data.session?.sessions?.[d.session]?.folder ?? "")}` : none)] : []),
      d.device === null ? none : String(d.device), d.pid === null ? none : String(d.pid), count(d.launches), duration(d.duration_ns),
      ...(uneven === null ? [] : [difference(d.duration_ns)]), duration(d.busy_ns) + (d.busy_cut_ns ? ` to ${duration(d.busy_ns + d.busy_cut_ns)}` : ""),
      duration(d.span_ns), percent(d.span_ns > 0 ? d.busy_ns / d.span_ns : null), count((d.streams ?? []).length)]) }));
}

function overTime(model: Model): Child {
  if (whyNoActivity(model) !== null) return null;
  const points = activityPoints(model);
  const width = model.activity?.width ?? 0;
  return makeFigure({ name: "activity", title: "Launches and busy time", height: "290px",
    how: `The run is divided into equal slices of ${duration(width)}. The upper chart shows launches per second; the lower chart shows the share of each slice in which at ` +
      "least one kernel ran, as the mean over the devices. The dashed line adds concurrent kernels individually: above 100 %, several kernels run at a time. " +
      "Amber slices have no kernels; shorter gaps are in the table below.",
    label: () => `Launches per second and busy time in ${count(points.length)} slices of ${duration(width)}. Over the whole run, ` +
      `the devices were busy ${percent(busyShare(model))} of the time`,
    option: (theme, _, view) => activityOption(model, theme, view),
    zoom: (view) => activityPart(model, view),
    table: () => ({ head: ["Slice from", "Launches", "Per second", "Busy", "Kernel time"], rows: points.map((p) => [duration(p.from),
      count(p.launches), count(p.rate), percent(p.busy), percent(p.load)]) }) }).element;
}

export const hasActivity = (model: Model) => whyNoActivity(model) === null || whyNoDevices(model) === null;

export function activitySection({ model }: Context): HTMLElement {
  return h("section", { id: "activity", "aria-labelledby": "h-activity" }, h("h2", { id: "h-activity" }, "Activity of the GPU"),
    overTime(model), ...gapPanels(model), devicePanel(model));
}
