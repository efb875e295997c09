// SPDX-License-Identifier: Apache-2.0
//
// Joins the files of a session. Kernels are from the plan, in its order, or from the overview if there is no plan. Fields
// of the overview are joined by name, process, grid and block. A value that no file contains is null or empty.

import { visible } from "./format";
import { differences, repeated } from "./labels";
import type { MaskEvent, OverviewKernel, Payload, Plan, PlanSample, PooledKernel, Triple } from "./types";

export interface Cluster {
  lower: number;
  upper: number;
  count: number;
  mean: number;
  stddev: number;
  captured: number;
  target: number;
  state: string;
  samples: PlanSample[];
}

export interface Kernel {
  id: number; // position in the plan
  rank: number; // 0 for the most time
  name: string;
  label: string; // display name with grid, block and process
  short: string; // without namespaces and parameters
  category: string;
  categoryIndex: number; // in model.categories; -1 if the report has no categories
  grid: Triple | null; // only if kernels are separated by launch configuration
  block: Triple | null;
  invocations: number;
  duration: number;
  share: number; // of the total time
  mean: number | null;
  cv: number | null; // standard deviation / mean of all launches
  captured: number;
  target: number;
  uncovered: number; // ns in clusters without a sample
  imputed: number;
  pooled: Named[]; // kernels that share the clusters; empty for a kernel with clusters of its own
  clusters: Cluster[];
  histogram: Triple[];
  slices: Triple[];
}

export interface SampleRow {
  sample: PlanSample;
  kernel: Kernel;
  label: string; // of the kernel, or of the pooled kernel that the launch is of
  short: string;
  cluster: number;
}

export interface TimelinePoint {
  elapsed: number;
  observed: number;
  duration: number;
  captured: number;
  capturedDuration: number;
  open: number;
  bound: number | null;
  dropped: number;
}

export interface ActivitySlice {
  launches: number; // that started in the slice
  time: number; // ns of kernels; concurrent kernels count individually
  busy: number; // ns in which a kernel ran, sum over the devices
}

export interface DeviceActivity {
  label: string;
  busy: number[]; // ns in each slice
}

export interface Activity {
  devices: number;
  start: number; // ns on the recorder's clock
  width: number; // ns
  slices: ActivitySlice[]; // including empty slices
  byDevice: DeviceActivity[]; // the first devices; empty if there is only one
}

export interface Model {
  data: Payload;
  folder: string;
  planFile: string;
  planPath: string; // for commands; of a profile, where its plan will be
  profilePath: string; // empty unless the report is of a profile
  categories: string[];
  mode: string;
  command: string[];
  kernels: Kernel[];
  byTime: Kernel[];
  samples: SampleRow[];
  duration: number;
  invocations: number;
  launches: number; // including excluded launches; upper limit of launch numbers
  asked: number | null;
  confidence: number | null;
  bound: number | null; // the stated bound
  certified: number | null; // the certified bound
  timeline: TimelinePoint[];
  slices: { start: number; width: number; count: number } | null;
  activity: Activity | null;
  events: MaskEvent[];
  eventsLeftOut: number;
}

const list = <T>(value: T[] | null | undefined): T[] => (Array.isArray(value) ? value : []);
const finite = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;
const size = (value: unknown): number => Math.max(0, finite(value) ?? 0);

// Whether nothing was recorded of a process. "stood_down" is the name in files from before 0.1.0.
export function isDisabled(process: { state?: string }): boolean {
  return process.state === "disabled" || process.state === "stood_down";
}

// Returns the minimum and maximum, or [Infinity, -Infinity] without values. Math.min(...values) fails for many values.
export function rangeOf(values: number[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

export interface Named {
  name: string;
  process?: number | null;
  range?: string | null;
  grid?: Triple | null;
  block?: Triple | null;
  invocations: number;
}

// Fields that the plan does not have are also absent in the overview.
function keyOf(kernel: Named): string {
  return JSON.stringify([kernel.name, kernel.process || null, kernel.range || null, kernel.grid ?? null,
    kernel.block ?? null]);
}

export function labelOf(kernel: Named): string {
  const parts = [visible(kernel.name) || "(no name)"];
  if (kernel.grid) parts.push(`grid ${kernel.grid.join("×")}`);
  if (kernel.block) parts.push(`block ${kernel.block.join("×")}`);
  if (kernel.process) parts.push(`process ${kernel.process}`);
  if (kernel.range) parts.push(`in ${visible(kernel.range)}`);
  return parts.join(" · ");
}

// Returns a short form in CUDA notation: `name <<<8×4, 128>>>`.
export function shortOf(kernel: Named, brief: unknown): string {
  const extents = (t: Triple) => t.join("×").replace(/(×1)+$/, "");
  const launch = [kernel.grid, kernel.block].filter((t) => t != null).map(extents).join(", ");
  const name = typeof brief === "string" ? brief : kernel.name;
  return `${visible(name) || "(no name)"}${launch && ` <<<${launch}>>>`}` +
    (kernel.process ? ` · process ${kernel.process}` : "") +
    (kernel.range ? ` · in ${visible(kernel.range)}` : "");
}

// Returns the coefficient of variation of a kernel from the moments of its clusters.
export function spread(clusters: { count: number; mean: number; stddev: number }[]): number | null {
  const n = clusters.reduce((a, c) => a + c.count, 0);
  if (n === 0) return null;
  const mean = clusters.reduce((a, c) => a + c.count * c.mean, 0) / n;
  if (!(mean > 0)) return null;
  const squares = clusters.reduce((a, c) => a + c.count * (c.stddev ** 2 + (c.mean - mean) ** 2), 0);
  return Math.sqrt(squares / n) / mean;
}

interface Source extends Named {
  duration_ns: number;
  captured?: number;
  pooled?: PooledKernel[] | null;
  clusters?: { lower_ns: number; upper_ns: number; count: number; mean_ns: number; stddev_ns: number;
    captured: number; target: number; samples?: PlanSample[]; state?: string }[];
}

function makeKernel(source: Source, id: number, overview: OverviewKernel | undefined, data: Payload): Kernel {
  const clusters = list(source.clusters).map((c): Cluster => ({ lower: size(c.lower_ns), upper: size(c.upper_ns),
    count: size(c.count), mean: size(c.mean_ns), stddev: size(c.stddev_ns), captured: size(c.captured),
    target: size(c.target), state: c.state ?? "", samples: list(c.samples) }));
  // Only the overview contains cluster states. They apply if it has the same clusters.
  const reported = list(overview?.clusters);
  if (reported.length === clusters.length) {
    clusters.forEach((c, i) => (c.state ||= reported[i]!.state ?? ""));
  }
  const sum = (of: (c: Cluster) => number) => clusters.reduce((a, c) => a + of(c), 0);
  const invocations = size(source.invocations);
  const duration = size(source.duration_ns);
  const name = typeof source.name === "string" ? source.name : "";
  return { id, rank: 0, name, label: labelOf({ ...source, name }),
    short: shortOf({ ...source, name }, data.brief_names?.[name]), ...categoryOf(data, id),
    grid: source.grid ?? null, block: source.block ?? null, invocations, duration, share: 0,
    mean: invocations > 0 ? duration / invocations : null, cv: spread(clusters),
    captured: clusters.length > 0 ? sum((c) => c.captured) : size(source.captured), target: sum((c) => c.target),
    uncovered: sum((c) => (c.captured === 0 ? c.count * c.mean : 0)), imputed: size(overview?.imputed),
    pooled: list(source.pooled), clusters, histogram: list(overview?.histogram), slices: list(overview?.slices) };
}

// Categories are given for the kernels of the plan.
function categoryOf({ categories, plan }: Payload, id: number): Pick<Kernel, "category" | "categoryIndex"> {
  const index = (plan ? categories?.kernels?.[id] : undefined) ?? -1;
  const name = categories?.names?.[index];
  return typeof name === "string" ? { category: name, categoryIndex: index } : { category: "", categoryIndex: -1 };
}

function activityOf(overview: Payload["overview"]): Activity | null {
  const given = overview?.activity;
  const count = Math.min(4096, size(given?.count));
  if (!given || !(size(given.width_ns) > 0) || count === 0) return null;
  const slices = Array.from({ length: count }, (): ActivitySlice => ({ launches: 0, time: 0, busy: 0 }));
  for (const [slice, launches, time, busy] of list(given.slices)) {
    const at = slices[size(slice)];
    if (at) Object.assign(at, { launches: size(launches), time: size(time), busy: size(busy) });
  }
  return { devices: Math.max(1, size(given.devices)), start: size(given.start_ns), width: given.width_ns, slices,
    byDevice: devicesOf(overview, count) };
}

// A device is "pid:number" if several processes have devices.
function devicesOf(overview: Payload["overview"], count: number): DeviceActivity[] {
  const given = list(overview?.activity?.by_device);
  const processes = new Set(given.map(({ process }) => process)).size;
  return given.map(({ process, device, slices }): DeviceActivity => {
    const busy = new Array<number>(count).fill(0);
    for (const [slice, ns] of list(slices)) if (size(slice) < count) busy[size(slice)] = size(ns);
    const number = String(device ?? "?");
    return { busy, label: processes > 1 ? `${overview?.processes?.[process]?.pid ?? process}:${number}` : `device ${number}` };
  });
}

function joinOverview(sources: Named[], overview: OverviewKernel[]): (OverviewKernel | undefined)[] {
  const waiting = new Map<string, OverviewKernel[]>();
  for (const kernel of overview) {
    const key = keyOf(kernel);
    const of = waiting.get(key);
    if (of) of.push(kernel);
    else waiting.set(key, [kernel]);
  }
  return sources.map((source) => {
    const of = waiting.get(keyOf(source));
    if (!of || of.length === 0) return undefined;
    // Replacements of invalid UTF-8 may have made several names equal.
    const same = of.findIndex((k) => k.invocations === source.invocations);
    return of.splice(Math.max(0, same), 1)[0];
  });
}

export const maxLabel = 60; // characters of a name next to other text

// Names are the forms of a kernel's name that the page shows.
export type Names = Pick<Kernel, "name" | "label" | "short">;

// If kernels differ only in namespaces or parameters, adds the differences to their short names.
export function distinguish(kernels: Names[]): void {
  for (const group of repeated(kernels.map((kernel) => kernel.short))) {
    differences(group.map((i) => kernels[i]!.label)).forEach((difference, n) => {
      kernels[group[n]!]!.short += ` […${difference}…]`;
    });
  }
}

// Older plans have only the certified bound, as `bound`.
function certifiedBound(plan: Plan): number | null {
  return finite(plan.totals?.certified_bound === undefined ? plan.totals?.bound : plan.totals.certified_bound);
}

// Returns whether the report is of a plan.json or a recorded run, which have no session.
export const isPlanAlone = ({ data }: Pick<Model, "data">) => Boolean(data.plan) && !data.session && !data.overview && !data.mask;

// The stated bound is never below the observed error.
function statedBound(plan: Plan): number | null {
  const bound = finite(plan.totals?.bound);
  return bound === null ? null : Math.max(bound, finite(plan.totals?.observed_error) ?? 0);
}

// After the end of a session, its last point gets the plan's bound, because the clusters are final only in the plan. If
// the plan has no bound (--selection first), neither does the timeline.
function timelineOf({ overview, plan }: Payload): TimelinePoint[] {
  const points = list(overview?.timeline).map((p) => ({ elapsed: size(p[0]), observed: size(p[1]), duration: size(p[2]),
    captured: size(p[3]), capturedDuration: size(p[4]), open: size(p[5]), bound: finite(p[6]), dropped: size(p[7]) }));
  const last = points.at(-1);
  if (!plan || !last || overview?.state !== "ended") return points;
  last.bound = statedBound(plan);
  if (last.bound === null) for (const point of points) point.bound = null;
  return points;
}

export function makeModel(data: Payload): Model {
  const overview = data.overview ?? null;
  const observed = list(overview?.kernels);
  const planned = data.plan ? list(data.plan.kernels) : null;
  const sources: Source[] = planned ?? observed;
  const joined = planned ? joinOverview(planned, observed) : observed;
  const kernels = sources.map((source, id) => makeKernel(source, id, joined[id], data));
  distinguish(kernels);
  const totals = data.plan?.totals ?? {};
  const duration = finite(totals.duration_ns) ?? finite(overview?.duration_ns) ??
    kernels.reduce((a, k) => a + k.duration, 0);
  const byTime = [...kernels].sort((a, b) => b.duration - a.duration || b.invocations - a.invocations || a.id - b.id);
  byTime.forEach((kernel, rank) => {
    kernel.rank = rank;
    kernel.share = duration > 0 ? kernel.duration / duration : 0;
  });
  const samples: SampleRow[] = [];
  for (const kernel of kernels) {
    kernel.clusters.forEach((cluster, number) => {
      for (const sample of cluster.samples) {
        const own = kernel.pooled[sample.pooled ?? -1];
        samples.push({ sample, kernel, cluster: number, label: own ? labelOf(own) : kernel.label,
          short: own ? shortOf(own, data.brief_names?.[own.name]) : kernel.short });
      }
    });
  }
  const option = (name: string) => finite(data.plan?.options?.[name]) ?? finite(data.session?.options?.[name]);
  const slices = overview?.slices;
  const invocations = finite(totals.invocations) ?? finite(overview?.observed) ??
    kernels.reduce((a, k) => a + k.invocations, 0);
  return { data, folder: data.folder ?? "",
    planFile: data.plan_file ?? "plan.json", planPath: data.plan_path || data.plan_file || "plan.json",
    profilePath: data.profile_path ?? "", categories: list(data.categories?.names), mode: data.session?.mode ?? overview?.mode ?? "",
    command: list(data.session?.command ?? overview?.command), kernels, byTime, samples, duration,
    invocations, launches: invocations + size(totals.excluded_invocations ?? overview?.excluded),
    asked: option("error_bound") ?? finite(overview?.error_bound),
    confidence: option("confidence") ?? finite(overview?.confidence),
    bound: data.plan ? statedBound(data.plan) : finite(overview?.bound),
    certified: data.plan ? certifiedBound(data.plan) : null, timeline: timelineOf(data),
    slices: slices && slices.width_ns > 0 ? { start: size(slices.start_ns), width: slices.width_ns, count: slices.count } : null,
    activity: activityOf(overview), events: list(data.mask?.events), eventsLeftOut: size(data.mask?.left_out) };
}

// Returns the kernels whose original or displayed name contains every typed word.
export function search<Row extends Names>(kernels: Row[], typed: string): Row[] {
  const words = typed.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return kernels;
  return kernels.filter((kernel) => {
    const text = `${kernel.label}\n${kernel.name}\n${kernel.short}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
