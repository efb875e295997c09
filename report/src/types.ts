// SPDX-License-Identifier: Apache-2.0
//
// The data of the page: the files of the session, which docs/formats describes (plan.md, session.md, overview.md, mask.md,
// evaluation.md, diff.md, stats.md). Only fields that the page reads are declared. Every field may be absent, because a session may
// be incomplete or older.

export interface Payload {
  schema: "stemtap.report/1";
  tool?: string;
  folder?: string;
  plan_file?: string;
  plan_path?: string; // absolute; empty for a profile
  profile_path?: string; // absolute; empty unless the report is of a profile
  profiles?: string[]; // absolute paths of the recorded run, if the source of the plan is not their path
  made_unix_ms?: number;
  brief_names?: Record<string, string>;
  categories?: { names?: string[]; kernels?: number[] }; // for each kernel of the plan, an index into names
  spread?: string; // where in the run the samples are
  cost?: string; // cost of the samples in a simulator
  session?: Session | null;
  plan?: Plan | null;
  overview?: Overview | null;
  evaluation?: Evaluation | null;
  diff?: Diff | null;
  ranks?: Ranks | null; // of a job (--fleet)
  mask?: Mask | null;
}

export type Options = Record<string, unknown>;

export interface Plan {
  schema?: string;
  tool?: string;
  source?: string;
  options?: Options;
  totals?: Partial<PlanTotals>;
  ranges?: PlanRange[]; // if launches are grouped by range
  kernels?: PlanKernel[];
}

export interface PlanRange {
  range: string; // "": outside of all ranges
  invocations: number;
  duration_ns: number;
  samples: number;
  sampled_duration_ns: number;
  bound: number | null;
  observed_error: number | null;
}

export interface PlanTotals {
  invocations: number;
  duration_ns: number;
  kernels: number;
  clusters: number;
  samples: number;
  sampled_duration_ns: number;
  speedup: number;
  bound: number | null;
  certified_bound: number | null; // absent in older plans, where it equals bound
  observed_error: number | null;
  plain_estimate_ns: number;
  calibrated_estimate_ns: number;
  uncovered_fraction: number;
  joined_fraction: number;
  dropped: number;
  gaps: number;
  graph_launches: number;
  imputed: number;
  imputed_duration_ns: number;
  native_unknown: number;
  unobserved_launches?: number;
  unobserved_intervals?: number;
  zero_duration: number;
  excluded_invocations: number;
  excluded_duration_ns: number;
}

export type Triple = [number, number, number];

export interface PlanKernel {
  name: string;
  process?: number | null;
  range?: string | null;
  grid?: Triple | null;
  block?: Triple | null;
  invocations: number;
  duration_ns: number;
  pooled?: PooledKernel[] | null; // kernels that share these clusters
  clusters?: PlanCluster[];
}

export interface PooledKernel {
  name: string;
  grid?: Triple | null;
  block?: Triple | null;
  invocations: number;
  duration_ns: number;
}

export interface PlanCluster {
  lower_ns: number;
  upper_ns: number;
  count: number;
  mean_ns: number;
  stddev_ns: number;
  target: number;
  captured: number;
  joined?: number;
  joined_bias_ns?: number;
  samples?: PlanSample[];
}

export interface PlanSample {
  index: number;
  occurrence: number;
  device: number | null;
  stream: number | null;
  grid: Triple | null;
  block: Triple | null;
  duration_ns: number;
  imputed?: boolean;
  range?: string | null;
  step?: number | null;
  pooled?: number | null; // index of the launch's kernel in the kernel's `pooled`
  weight: number;
}

export interface Overview {
  tool?: string;
  mode?: string;
  state?: string;
  started_unix_ms?: number;
  elapsed_s?: number;
  command?: string[];
  error_bound?: number;
  confidence?: number;
  level?: string;
  actuator?: string;
  seen?: number;
  kept?: number;
  dropped?: number;
  gaps?: number;
  losses?: Record<string, number>;
  observed?: number;
  duration_ns?: number;
  captured?: number;
  captured_duration_ns?: number;
  kernels_known?: number;
  clusters_open?: number;
  clusters_closed?: number;
  bound?: number | null;
  slowed?: number;
  zero_duration?: number;
  excluded?: number;
  excluded_duration_ns?: number;
  processes?: { pid: number; program?: string; state?: string; reason?: string; seen?: number;
    kept?: number; dropped?: number; captured?: number }[];
  // elapsed s, launches observed, their ns, captured, their ns, clusters open, bound, dropped
  timeline?: (number | null)[][];
  // slice, launches, ns of kernels, ns in which a device was busy
  activity?: { devices: number; start_ns: number; width_ns: number; count: number; slices: number[][];
    by_device?: { process: number; device: number | null; slices: [slice: number, busyNs: number][] }[] } | null;
  slices?: { start_ns: number; width_ns: number; count: number } | null;
  kernels?: OverviewKernel[];
}

export interface OverviewKernel {
  name: string;
  process?: number | null;
  range?: string | null;
  grid?: Triple | null;
  block?: Triple | null;
  invocations: number;
  duration_ns: number;
  captured?: number;
  imputed?: number;
  clusters?: { lower_ns: number; upper_ns: number; count: number; mean_ns: number; stddev_ns: number;
    captured: number; target: number; state?: string }[];
  histogram?: Triple[]; // lower, upper, launches
  slices?: Triple[]; // slice, launches, ns
}

export type MaskKind = "capture" | "close" | "reopen" | "top_up";
// kind, launch index, position of the kernel in the plan, occurrence, cluster, ns of the recorder's clock
export type MaskEvent = [MaskKind, number, number | null, number, number, number | null];
export interface Mask {
  events?: MaskEvent[];
  left_out?: number;
}

export interface Session {
  schema?: string;
  tool?: string;
  mode?: string;
  command?: string[];
  options?: Options;
  host?: { name?: string; system?: string; machine?: string; cores?: number };
  elapsed_s?: number;
  exit_code?: number;
  signal?: number;
  counters?: Record<string, unknown> & { losses?: Record<string, number> };
  processes?: SessionProcess[];
  devices?: SessionDevice[];
  snapshot?: boolean; // made while the session went on
  completeness?: string;
  warnings?: string[];
  sessions?: { mode?: string; folder?: string; host?: { name?: string } }[]; // only in a merged session
}

export interface SessionProcess {
  pid: number;
  program?: string;
  state?: string;
  reason?: string;
  cupti_version?: number;
  driver_version?: number;
  seen?: number;
  kept?: number;
  launches_gated?: number;
  launches_captured?: number;
  paused?: number;
  cost?: { program_ns?: number; background_ns?: number; cupti_ns?: number };
  losses?: Record<string, number>;
}

export interface SessionDevice {
  pid: number | null;
  device: number | null;
  launches: number;
  graph_kernels?: number;
  graph_duration_ns?: number;
  duration_ns: number;
  busy_ns: number;
  busy_cut_ns?: number;
  span_ns: number;
  start_ns?: number;
  idle?: Triple[]; // shortest gap of the bin, gaps, ns
  longest_gaps?: [start: number, ns: number, before?: string | null, after?: string | null][]; // names of kernels
  session?: number; // only in a merged session
  streams?: { stream: number | null; launches: number; duration_ns: number }[];
}

export interface ErrorFigures {
  mean?: number | null;
  p95?: number | null;
  max?: number | null;
  bias?: number | null;
}

export interface EvaluationRow {
  workload: string;
  method: string;
  error_bound: number | null;
  runs?: number;
  speedup: number | null;
  samples?: number;
  clusters?: number;
  error?: ErrorFigures;
  bound?: number | null;
  coverage?: number | null;
  p95_over_bound?: number | null;
  uncovered_fraction?: number | null;
}

export interface EvaluationSummary {
  method: string;
  error_bound: number | null;
  workloads: number;
  speedup_harmonic: number | null;
  error_mean: number | null;
  error_max: number | null;
  coverage?: number | null;
  median_p95_over_bound?: number | null;
}

export interface Evaluation {
  options?: Options;
  workloads?: { name: string; invocations?: number; kernels?: number; duration_ns?: number;
    speedup_limit?: number | null }[];
  rows?: EvaluationRow[];
  summary?: EvaluationSummary[];
  left_out?: { workload: string; method: string; reason: string }[];
  equal_error?: {
    one: string;
    other: string;
    error_bound: number;
    rows: { name: string; ratio: number | null; ratio_low: number | null; ratio_high: number | null }[];
  };
}

export interface Rank {
  rank: number;
  host?: string;
  launches?: number;
  duration_ns?: number;
  captures?: number;
  captured_ns?: number;
  ended?: boolean;
  silent?: boolean;
  slow?: boolean;
  // Only of a slow rank.
  slower?: number; // how much longer its slow kernels take than on the other ranks
  slower_low?: number; // 95 % interval
  slower_high?: number;
  slow_share?: number; // of the compared time
  slow_kernels?: string[];
}

export interface DifferingKernels {
  share?: number; // of the time
  kernels?: string[];
}

export interface Ranks {
  job?: string;
  kernels_compared?: number;
  communication_share?: number; // of the time
  kernels_apart?: DifferingKernels; // that take longer on some ranks
  kernels_of_some?: DifferingKernels; // that run on some ranks only
  ranks?: Rank[];
}

export type DiffVerdict = "slower" | "faster" | "new" | "gone" | "unclear" | "same";

export interface DiffKernel {
  name: string;
  verdict: DiffVerdict;
  launches_a: number;
  launches_b: number;
  duration_a_ns: number;
  duration_b_ns: number;
  mean_a_ns: number | null;
  mean_b_ns: number | null;
  by_launches_ns: number;
  by_shapes_ns: number;
  by_duration_ns: number;
  mean_change: number | null;
  change: number | null; // at equal shapes
  lower: number | null;
  upper: number | null;
  p: number | null;
  adjusted_p: number | null;
  assumes_independence: boolean;
  basis: "mean" | "most launches" | null; // of a verdict slower or faster
  shift: number | null; // change of the median launch at equal shapes
  shift_lower: number | null;
  shift_upper: number | null;
  adjusted_shift_p: number | null;
  reason: string | null; // why the verdict is unclear
  equal_mean_a_ns?: number | null; // at equal shapes
  equal_mean_b_ns?: number | null;
}
export interface DiffTotal {
  verdict: DiffVerdict; // not new or gone
  change: number | null;
  lower: number | null;
  upper: number | null;
  reason: string | null;
}
export interface DiffPolicy {
  rules: string; // of --fail-on
  outcome: "ok" | "fail" | "unclear";
  reason: string;
}

export interface DiffRun {
  source: string;
  launches: number;
  duration_ns: number;
}

export interface Diff {
  a: DiffRun; // the baseline
  b: DiffRun; // this session
  confidence: number;
  threshold: number;
  by_launches_ns: number;
  by_shapes_ns: number;
  by_duration_ns: number;
  total?: DiffTotal; // of the whole run
  policy?: DiffPolicy | null;
  verdicts: Record<DiffVerdict, number>;
  notes: string[];
  kernels: DiffKernel[];
}
