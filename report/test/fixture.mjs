// SPDX-License-Identifier: Apache-2.0
//
// Synthetic sessions in the format of the page's data (src/types.ts). As in a real session, sums agree with their parts.
// The same kind and seed give the same session. `fromSession` reads a real session.

import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {  // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const spaces = ["basalt", "quarry", "flint"];
const verbs = ["gemm", "gemv", "attention", "softmax", "layer_norm_rows", "rotary", "append_paged", "top_k",
  "reduce", "scan", "gather", "scatter", "transpose", "elementwise", "cast", "conv", "pool", "embedding"];

// stemtap report guesses categories from names (src/model/kernel_category.cpp). Here, the verb determines the category.
const categoryNames = ["gemm", "attention", "reduction", "copy", "elementwise", "other"];
const categories = { gemm: 0, gemv: 0, attention: 1, softmax: 2, reduce: 2, scan: 2, top_k: 2, gather: 3, scatter: 3, transpose: 3,
  append_paged: 3, elementwise: 4, cast: 4, rotary: 4 };
const categoryOf = (name) => categories[name.match(/::([a-z_]+)::/)?.[1]] ?? 5;

function kernelName(number, random) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const tile = () => 16 << Math.floor(random() * 5);
  const verb = verbs[number % verbs.length];
  return `void ${pick(spaces)}::${verb}::${pick(["Pipelined", "Skinny", "Split", "Fused"])}Kernel<` +
    `${pick(["half_t", "float", "bfloat16_t"])}, Tile<${tile()}, ${tile()}, ${tile()}>, ${number}>` +
    `(${verb}::Params, float const*, int)`;
}

export const hostileNames = [
  "<script>window.pwned=1</script>",
  '"><img src=x onerror="window.pwned=1">',
  "</script><script>window.pwned=2</script>",
  "quotes \" ' ` \\ and, commas; and\ttabs\nand lines",
  "emoji \u{1F680}\u{1F469}\u200D\u{1F4BB} and \u4E2D\u6587\u5185\u6838",
  "left \u202Eedirrevo thgir\u202C over \u2066isolate\u2069 \u200Fmark",
  "\u05E7\u05E8\u05E0\u05DC \u0646\u0648\u0627\u0629 right to left",
  "nul \u0000 bell \u0007 escape \u001B[31mred",
  "__proto__",
  "constructor",
  "{a|rich} {b|text} {c}",
  "=HYPERLINK(\"x\")",
  "",
  "x".repeat(4000),
  "lone \uD800 surrogate and \uFFFD",
  "z\u0351\u0352\u0353a\u0354\u0355l\u0356g\u0357o\u0358 ".repeat(20),
  "javascript:alert(1)",
  "&lt;b&gt;entities&amp;",
  "%s %d ${x} $& $1 {{x}}",
];

// Divides `count` in proportion to `shares`. The parts add up to `count`.
function cut(count, shares) {
  const all = shares.reduce((a, b) => a + b, 0);
  let done = 0;
  let share = 0;
  return shares.map((s) => {
    share += s;
    const upTo = Math.round((count * share) / all);
    const part = upTo - done;
    done = upTo;
    return part;
  });
}

function makeKernel(number, options, random) {
  const clusterCount = options.clusters(random);
  const clusters = [];
  const histogram = [];
  let lower = Math.round(1500 * 2 ** (random() * 6));
  for (let c = 0; c < clusterCount; ++c) {
    const upper = Math.round(lower * (1.1 + random() * 0.6));
    const count = Math.max(2, Math.round(options.launches(number) * (0.2 + random())));
    const bins = Math.min(count, Math.max(1, Math.floor(options.bins / clusterCount)));
    const shares = Array.from({ length: bins }, (_, i) => Math.exp(-(((i + 0.5) / bins - 0.4) ** 2) * 14));
    let sum = 0;
    let squares = 0;
    cut(count, shares).forEach((n, i) => {
      const from = Math.round(lower + ((upper - lower) * i) / bins);
      const to = Math.round(lower + ((upper - lower) * (i + 1)) / bins);
      const middle = Math.floor((from + to) / 2);
      sum += n * middle;
      squares += n * middle * middle;
      if (n > 0 && to > from) histogram.push([from, to, n]);
    });
    const mean = sum / count;
    const captured = Math.min(count, options.samples(random));
    clusters.push({ lower_ns: lower, upper_ns: upper - 1, count, mean_ns: mean,
      stddev_ns: Math.sqrt(Math.max(0, squares / count - mean * mean)), target: captured, captured, samples: [] });
    lower = upper + Math.round(random() * upper);
  }
  const invocations = clusters.reduce((a, k) => a + k.count, 0);
  const duration = Math.round(clusters.reduce((a, k) => a + k.count * k.mean_ns, 0));
  return { name: options.name(number), invocations, duration_ns: duration, clusters, histogram };
}

function addSamples(kernels, total, random) {
  const events = [];
  const taken = new Set();
  kernels.forEach((kernel, position) => {
    let plain = 0;
    kernel.clusters.forEach((cluster, number) => {
      for (let s = 0; s < cluster.captured; ++s) {
        const offset = (random() + random() - 1) * cluster.stddev_ns;
        const duration = Math.min(cluster.upper_ns, Math.max(cluster.lower_ns, Math.round(cluster.mean_ns + offset)));
        let index = Math.floor(total * random() ** 2);
        while (taken.has(index)) index = (index + 1) % total;
        taken.add(index);
        const occurrence = Math.floor(kernel.invocations * (index / total));
        plain += (duration * cluster.count) / cluster.captured;
        cluster.samples.push({ index, occurrence, device: 0, stream: 7, grid: [1 + (position % 64), 1, 1],
          block: [256, 1, 1], duration_ns: duration, weight: cluster.count / cluster.captured });
        events.push(["capture", index, position, occurrence, number, 1795310000000000000 + index * 15000]);
      }
    });
    kernel.plain = plain;
    for (const cluster of kernel.clusters) {
      for (const sample of cluster.samples) sample.weight *= kernel.duration_ns / (plain || 1);
      cluster.samples.sort((a, b) => a.index - b.index);
      const last = cluster.samples.at(-1);
      if (last) events.push(["close", last.index + 500, position, last.occurrence, kernel.clusters.indexOf(cluster),
        1795310000000000000 + last.index * 15000]);
    }
  });
  return events.sort((a, b) => a[1] - b[1]);
}

function planOf(kernels, bound) {
  const sum = (of) => kernels.reduce((a, k) => a + of(k), 0);
  const samples = kernels.flatMap((k) => k.clusters.flatMap((c) => c.samples));
  const sampled = samples.reduce((a, s) => a + s.duration_ns, 0);
  const duration = sum((k) => k.duration_ns);
  const plain = sum((k) => k.plain);
  const error = Math.abs(plain / duration - 1);
  return { schema: "stemtap.plan/1", tool: "stemtap 0.1.0", source: "decode.csv.zst",
    options: { error_bound: 0.05, confidence: 0.95, method: "optimal", bound: "workload", min_samples: 2,
      selection: "random", group_by: "name", exclude: "", weights: "calibrated", seed: 1, lag: 20000 },
    totals: { invocations: sum((k) => k.invocations), duration_ns: duration, kernels: kernels.length,
      clusters: sum((k) => k.clusters.length), samples: samples.length, sampled_duration_ns: sampled,
      speedup: sampled > 0 ? duration / sampled : 0, bound: bound === null ? null : Math.max(bound, error),
      certified_bound: bound, observed_error: error,
      plain_estimate_ns: plain, calibrated_estimate_ns: sum((k) => (k.plain > 0 ? k.duration_ns : 0)), uncovered_fraction: 0,
      joined_fraction: 0, dropped: 0, gaps: 0, zero_duration: 0, graph_launches: 0, excluded_invocations: 0, excluded_duration_ns: 0 },
    kernels: kernels.map(({ name, invocations, duration_ns, clusters }) =>
      ({ name, invocations, duration_ns, clusters })) };
}

// Slices 40 to 43 are idle. All other slices have the same launches.
const idleSlices = [40, 41, 42, 43];

function activityOf(t, elapsed) {
  const count = 128;
  const shares = Array.from({ length: count }, (_, i) => (idleSlices.includes(i) ? 0 : 1));
  const launches = cut(t.invocations, shares);
  const times = cut(t.duration_ns, shares);
  const width = Math.round((elapsed * 1e9) / count);
  return { devices: 1, start_ns: 1795310000000000000, width_ns: width, count,
    slices: launches.map((n, i) => [i, n, times[i], Math.min(times[i], Math.round(width * 0.9))]).filter(([, n]) => n > 0) };
}

function overviewOf(kernels, plan, elapsed, random) {
  const t = plan.totals;
  const width = Math.round((elapsed * 1e9) / 64);
  const points = 96;
  const timeline = Array.from({ length: points }, (_, i) => {
    const part = (i + 1) / points;
    const captured = Math.round(t.samples * part ** 0.5);
    const bound = i < 2 ? null : t.bound + Math.exp(-9 * part) * (1 - t.bound);
    return [elapsed * part, Math.round(t.invocations * part), Math.round(t.duration_ns * part), captured,
      Math.round((t.sampled_duration_ns * captured) / t.samples), Math.round(t.clusters * (1 - part)), bound, 0];
  });
  const ordered = [...kernels].sort((a, b) => b.duration_ns - a.duration_ns);
  return { schema: "stemtap.overview/1", tool: "stemtap 0.1.0", mode: "live", state: "ended", pid: 4240,
    started_unix_ms: 1795310000123, elapsed_s: elapsed, period_ms: 1000, command: ["python3", "decode.py", "--tokens", "64"],
    error_bound: 0.05, confidence: 0.95, level: "gate", actuator: "log", seen: t.invocations, kept: t.invocations,
    dropped: 0, gaps: 0, losses: {}, observed: t.invocations, duration_ns: t.duration_ns, captured: t.samples,
    captured_duration_ns: t.sampled_duration_ns, kernels_known: t.kernels, clusters_open: 0,
    clusters_closed: t.clusters, bound: t.bound, slowed: 0, zero_duration: 0, excluded: 0, excluded_duration_ns: 0,
    processes: [{ pid: 4242, program: "python3", state: "closed", reason: "", seen: t.invocations,
      kept: t.invocations, dropped: 0, captured: t.samples }],
    timeline, activity: activityOf(t, elapsed), slices: { start_ns: 1795310000000000000, width_ns: width, count: 64 },
    kernels: ordered.map((k, rank) => {
      const slope = (random() - 0.5) * 0.3;
      const weight = (i) => 1 + slope * Math.sin(i / 9 + rank);
      const parts = cut(k.invocations, Array.from({ length: 64 }, () => 1));
      const times = cut(k.duration_ns, parts.map((n, i) => n * weight(i)));
      return { name: k.name, process: null, grid: null, block: null, invocations: k.invocations,
        duration_ns: k.duration_ns, captured: k.clusters.reduce((a, c) => a + c.captured, 0), imputed: 0,
        clusters: k.clusters.map(({ samples: _, ...c }) => ({ ...c, state: "closed" })),
        histogram: k.histogram,
        slices: rank < 256 ? parts.map((n, i) => [i, n, times[i]]).filter(([, n]) => n > 0) : [] };
    }) };
}

function sessionOf(plan, elapsed) {
  const t = plan.totals;
  return { schema: "stemtap.session/1", tool: "stemtap 0.1.0", mode: "live", command: ["python3", "decode.py", "--tokens", "64"],
    options: plan.options, host: { name: "node7", system: "Linux 6.1", machine: "x86_64", cores: 64 },
    elapsed_s: elapsed, exit_code: 0, signal: 0,
    counters: { seen: t.invocations, kept: t.invocations, dropped: 0, gaps: 0, captured: t.samples,
      captured_duration_ns: t.sampled_duration_ns, zero_duration: 0, slowed: 0, slowed_beside: 0,
      native_unknown: 0, contexts_refused: 0, slots_refused: 0,
      losses: { ring_full: 0, no_timestamps: 0, bad_timestamps: 0, incomplete: 0, gaps: 0, graph_launches: 0 } },
    processes: [{ pid: 4242, program: "python3", state: "closed", reason: "", cupti_version: 130001,
      driver_version: 13000, seen: t.invocations, kept: t.invocations, read: t.invocations, late: 0, malformed: 0,
      skipped: 0, launches_gated: t.invocations, launches_captured: t.samples, buffers: 350,
      cost: { program_ns: 21000, background_ns: 41000000, cupti_ns: 0 }, losses: {} }],
    devices: [{ pid: 4242, device: 0, launches: t.invocations, graph_kernels: 0, duration_ns: t.duration_ns,
      busy_ns: Math.round(elapsed * 0.8e9), busy_cut_ns: 0, span_ns: Math.round(elapsed * 1e9), start_ns: 1795310000000000000,
      idle: [[0, 700, 420000], [1000, 90000, 270000000], [100000000, 1, 384687500]],
      longest_gaps: [[1795310003846875000, 384687500, plan.kernels[0].name, plan.kernels[1].name],
        [1795310001000000000, 9100, null, plan.kernels[2].name]],
      streams: [{ stream: 7, launches: t.invocations, duration_ns: t.duration_ns }] }],
    warnings: [] };
}

function evaluationOf(random) {
  const methods = ["optimal", "root", "stem", "allegro", "pka", "sieve", "photon", "tbpoint", "random"];
  const workloads = ["decode.csv.zst", "training.csv.zst"];
  const rows = workloads.flatMap((workload) => methods.map((method, i) => {
    const mean = 0.004 + 0.012 * i * random();
    return { workload, method, error_bound: 0.05, deterministic: i > 3 && i < 8, runs: i > 3 && i < 8 ? 1 : 100,
      speedup: 4000 / (1 + i * 1.7) + 40 * random(), sampled_duration_ns: 290000 * (1 + i), samples: 30 + 20 * i,
      clusters: 18 + i, error: { mean, p95: mean * (1.8 + random()), max: mean * 3.5, bias: mean * (random() - 0.5) },
      bound: i < 3 ? 0.0499 : null, coverage: i < 3 ? 0.95 + 0.05 * random() : null,
      p95_over_bound: i < 3 ? 0.6 + 0.4 * random() : null, uncovered_fraction: 0, prepare_s: 0.01, draw_s: 1e-5 };
  }));
  return { schema: "stemtap.evaluation/1", tool: "stemtap 0.1.0", options: { error_bound: 0.05, confidence: 0.95, runs: 100 },
    workloads: workloads.map((name) => ({ name, invocations: 816000, kernels: 14, duration_ns: 3644973152,
      speedup_limit: 52123.1, excluded_invocations: 0, excluded_duration_ns: 0 })),
    rows,
    summary: methods.map((method) => {
      const own = rows.filter((r) => r.method === method);
      return { method, error_bound: 0.05, workloads: own.length,
        speedup_harmonic: own.length / own.reduce((a, r) => a + 1 / r.speedup, 0),
        error_mean: own.reduce((a, r) => a + r.error.mean, 0) / own.length,
        error_max: Math.max(...own.map((r) => r.error.max)), pearson: 0.999, coverage: own[0].coverage,
        workloads_covered: own[0].coverage === null ? null : 1, median_p95_over_bound: own[0].p95_over_bound,
        s_curve: [] };
    }),
    left_out: [{ workload: "decode.csv.zst", method: "ggp", reason: "needs what the profile has not" }] };
}

// Returns the output of `stemtap diff --json` for an earlier run. Each verdict has one kernel; all other kernels are
// unchanged.
function diffOf(plan) {
  const factors = { slower: 1 / 1.05, faster: 1 / 0.9, unclear: 1 / 1.02 };
  const order = ["slower", "faster", "new", "gone", "unclear", "same"];
  const kernels = plan.kernels.map((kernel, i) => {
    const verdict = order[i] ?? "same";
    const mean = kernel.duration_ns / (kernel.invocations || 1);
    const before = verdict === "new" ? 0 : kernel.invocations;
    const after = verdict === "gone" ? 0 : kernel.invocations;
    const a = Math.round(before * mean * (factors[verdict] ?? 1));
    const b = Math.round(after * mean);
    const isTested = before > 0 && after > 0 && a > 0 && b > 0;
    const change = isTested ? b / a - 1 : null;
    const has = isTested;
    return { name: verdict === "gone" ? `old::${kernel.name}` : kernel.name, verdict, launches_a: before, launches_b: after, duration_a_ns: a, duration_b_ns: b,
      mean_a_ns: before > 0 ? a / before : null, mean_b_ns: after > 0 ? b / after : null,
      by_launches_ns: isTested ? 0 : b - a, by_shapes_ns: 0, by_duration_ns: isTested ? b - a : 0, mean_change: change, change,
      lower: has ? change - 0.004 : null, upper: has ? change + 0.004 : null, p: has && verdict !== "unclear" ? 0.001 : null,
      adjusted_p: has && verdict !== "unclear" ? 0.01 : null, assumes_independence: verdict === "unclear",
      basis: verdict === "slower" || verdict === "faster" ? "mean" : null, shift: change, shift_lower: has ? change - 0.002 : null,
      shift_upper: has ? change + 0.002 : null, adjusted_shift_p: has ? 0.02 : null, reason: verdict === "unclear" ? "no order" : null };
  });
  const sum = (of) => kernels.reduce((total, k) => total + of(k), 0);
  const run = (source, x) => ({ source, launches: sum((k) => k[`launches_${x}`]), duration_ns: sum((k) => k[`duration_${x}_ns`]) });
  return { schema: "stemtap.diff/1", a: run("last-week", "a"), b: run("stemtap-decode", "b"), confidence: 0.95, threshold: 0.01,
    by_launches_ns: sum((k) => k.by_launches_ns), by_shapes_ns: 0, by_duration_ns: sum((k) => k.by_duration_ns),
    total: { verdict: "slower", change: 0.02, lower: 0.015, upper: 0.025, p: 0.001, adjusted_p: 0.01, reason: null },
    policy: { rules: "slower:2%", outcome: "fail", reason: "slower:2%: 1 kernel is slower: gemm +5.00 % (+4.60 % to +5.40 %)" },
    verdicts: Object.fromEntries(order.map((verdict) => [verdict, kernels.filter((k) => k.verdict === verdict).length])),
    notes: ["1 kernel is unclear (no order): a run has no order of launches"],
    kernels: kernels.sort((x, y) => order.indexOf(x.verdict) - order.indexOf(y.verdict)) };
}

// Returns the ranks of a job, of which one in eight is slow.
function ranksOf(kernels, number, host) {
  const names = kernels.map((k) => k.name);
  const duration = kernels.reduce((sum, k) => sum + k.duration_ns, 0);
  const ranks = Array.from({ length: number }, (_, i) => ({ rank: i, host: host(i), launches: 1000 + i,
    duration_ns: duration * (i % 8 === 3 ? 1.03 : 1), captures: 3 + i % 4, captured_ns: 1e5 * (1 + i % 4), ended: i !== 1,
    silent: i === 1, slow: i % 8 === 3, ...(i % 8 === 3 ? { slower: 0.082, slower_low: 0.079, slower_high: 0.084,
      slow_share: 0.197, slow_kernels: names.slice(0, 5) } : {}) }));
  return { schema: "stemtap.ranks/1", job: "train-7", kernels_compared: names.length - 2, communication_share: 0.041,
    kernels_apart: { share: 0.25, kernels: names.slice(0, 2) }, kernels_of_some: { share: 0, kernels: [] }, ranks };
}

function assemble(options, seed) {
  const random = randomNumbers(seed);
  const kernels = Array.from({ length: options.kernels }, (_, i) =>
    makeKernel(i, { ...options, name: (n) => options.name(n, random) }, random));
  const total = kernels.reduce((a, k) => a + k.invocations, 0);
  const events = addSamples(kernels, total, random);
  const plan = planOf(kernels, 0.0498);
  const mostEvents = 20000;
  return { schema: "stemtap.report/1", tool: "stemtap 0.1.0", folder: options.folder,
    plan_file: `${options.folder}/plan.json`, plan_path: `/runs/${options.folder}/plan.json`, profile_path: "", made_unix_ms: 1795310100000,
    session: sessionOf(plan, options.elapsed), plan, overview: overviewOf(kernels, plan, options.elapsed, random),
    categories: { names: categoryNames, kernels: kernels.map((k) => categoryOf(k.name)) },
    evaluation: options.evaluation ? evaluationOf(random) : null, diff: options.diff ? diffOf(plan) : null,
    ranks: options.ranks ? ranksOf(plan.kernels, options.ranks, options.host ?? ((i) => `node-${i >> 2}`)) : null,
    mask: { events: events.slice(0, mostEvents), left_out: Math.max(0, events.length - mostEvents) } };
}

function small() {
  return assemble({ kernels: 14, folder: "stemtap-decode", elapsed: 12.31, bins: 64, evaluation: true, diff: true, ranks: 8,
    name: kernelName, launches: (n) => 60000 / (1 + n), clusters: (r) => 1 + Math.floor(r() * 4),
    samples: (r) => 2 + Math.floor(r() * 3) }, 7);
}

// Returns a session with every kind of problem and with hostile names.
function hostile() {
  const page = assemble({ kernels: hostileNames.length, folder: "a 'quoted' <b>folder</b> \u202E$(x)", elapsed: 3.5,
    bins: 24, evaluation: true, diff: true, ranks: 8, host: (n) => hostileNames[n], name: (n) => hostileNames[n], launches: (n) => 9000 / (1 + n % 7),
    clusters: (r) => 1 + Math.floor(r() * 3), samples: (r) => Math.floor(r() * 3) }, 11);
  const { plan, session, overview, evaluation } = page;
  Object.assign(plan.totals, { bound: 0.21, certified_bound: 0.21, observed_error: null, uncovered_fraction: 0.13, dropped: 1234, gaps: 2,
    imputed: 40, imputed_duration_ns: 512000, native_unknown: 3, zero_duration: 17, graph_launches: 5,
    excluded_invocations: 77, excluded_duration_ns: 123456 });
  plan.kernels[3].process = 4242;
  plan.kernels[4].grid = [8, 1, 1];
  plan.kernels[4].block = [64, 1, 1];
  const zero = { name: "takes no time", invocations: 17, duration_ns: 0, clusters: [{ lower_ns: 0, upper_ns: 0,
    count: 17, mean_ns: 0, stddev_ns: 0, target: 2, captured: 1, samples: [{ index: 3, occurrence: 0, device: null,
      stream: null, grid: null, block: null, duration_ns: 0, weight: 17 }] }] };
  plan.kernels.push(zero);
  plan.totals.invocations += 17;
  for (const part of ["kernels", "clusters", "samples"]) plan.totals[part] += 1;
  overview.kernels.push({ ...zero, clusters: [], captured: 1, imputed: 0, histogram: [[0, 1, 17]], slices: [] });
  page.categories.kernels.push(5);
  for (const kernel of plan.kernels.slice(1, 4)) {
    for (const sample of kernel.clusters[0].samples) Object.assign(sample, { range: hostileNames[0], step: 7 });
  }
  session.counters.paused = 37;
  for (const sample of plan.kernels[0].clusters[0].samples) sample.imputed = true;
  session.command = ["python3", "<script>window.pwned=3</script>", "\u202E"];
  session.exit_code = 137;
  session.signal = 9;
  Object.assign(session.counters, { dropped: 1234, gaps: 2, slowed: 40, slowed_beside: 8, native_unknown: 3 });
  Object.assign(session.counters.losses, { ring_full: 1200, no_timestamps: 34, gaps: 2, "<i>unknown</i>": 1 });
  session.processes.push({ ...session.processes[0], pid: 4243, program: "<b>worker</b>", state: "disabled",
    reason: "another tool has CUPTI <img src=x onerror=window.pwned=4>", seen: 0, kept: 0 });
  session.counters.slots_refused = 6;
  session.devices[0].busy_cut_ns = 1e6;
  session.warnings = ["a warning with <script>window.pwned=5</script>", "w".repeat(3000)];
  overview.timeline[5][6] = 0;
  overview.timeline[6][6] = null;
  page.mask.events.push(["reopen", 100, 2, 5, 0, null], ["top_up", 9999, null, 0, 0, null],
    ["<b>kind</b>", -1, 1e6, 0, 0, null]);
  page.mask.left_out = 12;
  evaluation.rows[0].method = "<b>method</b>";
  evaluation.rows[0].error.p95 = null;
  evaluation.rows[1].speedup = null;
  evaluation.workloads[0].name = evaluation.rows[0].workload = "<b>workload</b>";
  const long = `/data/${"profiles-of-a-cluster/".repeat(6)}run.csv.zst`;
  for (const row of evaluation.rows.slice(2, 9)) row.workload = long;
  return page;
}

function huge() {
  return assemble({ kernels: 10000, folder: "stemtap-huge", elapsed: 3600, bins: 32, evaluation: true, ranks: 10000,
    name: kernelName, launches: (n) => 2e6 / (1 + n) + 50, clusters: (r) => 1 + Math.floor(r() * 4),
    samples: () => 4 }, 3);
}

// Returns a killed session, with only a plan or without a plan.
function bare() {
  const page = small();
  return { ...page, session: null, overview: null, evaluation: null, diff: null, ranks: null, mask: null };
}

function empty() {
  return { schema: "stemtap.report/1", tool: "stemtap 0.1.0", folder: "", made_unix_ms: 0, session: null, plan: null,
    overview: null, evaluation: null, diff: null, ranks: null, mask: null };
}

export const kinds = { small, hostile, huge, bare, empty };

const lower = (bin) => (bin < 128 ? bin : (64 + (bin % 64)) * 2 ** (Math.floor(bin / 64) - 1));

// Returns the bin of the sketch that contains a duration (docs/math/sketch.md).
function binOf(duration) {
  if (duration < 64) return duration;
  const shift = Math.floor(Math.log2(duration)) - 6;
  return 64 * shift + Math.floor(duration / 2 ** shift);
}

// Returns overview.json (docs/formats/overview.md) for a plan and launches [kernel name, start, duration].
function overviewFromLaunches(plan, launches) {
  const kernels = new Map();
  const first = launches[0]?.[1] ?? 0;
  const last = launches.at(-1)?.[1] ?? 0;
  const width = 2 ** Math.ceil(Math.log2((last - first + 1) / 64));
  let duration = 0;
  const timeline = [];
  const t = plan.totals;
  launches.forEach(([name, start, ns], i) => {
    let kernel = kernels.get(name);
    if (!kernel) kernels.set(name, (kernel = { bins: new Map(), slices: new Map(), n: 0, ns: 0 }));
    const bin = binOf(ns);
    kernel.bins.set(bin, (kernel.bins.get(bin) ?? 0) + 1);
    const slice = Math.floor((start - first) / width);
    const of = kernel.slices.get(slice) ?? [slice, 0, 0];
    kernel.slices.set(slice, [slice, of[1] + 1, of[2] + ns]);
    kernel.n += 1;
    kernel.ns += ns;
    duration += ns;
    if ((i + 1) % Math.ceil(launches.length / 200) === 0) {
      const part = (i + 1) / launches.length;
      timeline.push([12 * part, i + 1, duration, Math.round(t.samples * part ** 0.4), 0,
        Math.round(t.clusters * (1 - part) ** 2), part < 0.02 ? null : t.bound + Math.exp(-12 * part), 0]);
    }
  });
  const histogram = (bins) => {
    let list = [...bins].sort((a, b) => a[0] - b[0]).map(([bin, n]) => [lower(bin), lower(bin + 1), n]);
    while (list.length > 64) {
      list = list.reduce((out, bin, i) => {
        if (i % 2) out[out.length - 1] = [out.at(-1)[0], bin[1], out.at(-1)[2] + bin[2]];
        else out.push(bin);
        return out;
      }, []);
    }
    return list;
  };
  const planned = new Map(plan.kernels.map((k) => [k.name, k]));
  return { schema: "stemtap.overview/1", tool: plan.tool, mode: "replay", state: "ended", elapsed_s: 12,
    started_unix_ms: 1795310000123, command: [], error_bound: plan.options.error_bound,
    confidence: plan.options.confidence, level: "kernels", actuator: "log", seen: t.invocations, kept: t.invocations,
    dropped: 0, gaps: 0, losses: {}, observed: t.invocations, duration_ns: t.duration_ns, captured: t.samples,
    captured_duration_ns: t.sampled_duration_ns, kernels_known: t.kernels, clusters_open: 0,
    clusters_closed: t.clusters, bound: t.bound, slowed: 0, zero_duration: 0, excluded: 0, excluded_duration_ns: 0,
    processes: [], timeline, slices: { start_ns: first, width_ns: width, count: Math.floor((last - first) / width) + 1 },
    kernels: [...kernels].sort((a, b) => b[1].ns - a[1].ns).map(([name, k]) => ({ name, process: null, grid: null,
      block: null, invocations: k.n, duration_ns: k.ns, captured: 0, imputed: 0,
      clusters: (planned.get(name)?.clusters ?? []).map(({ samples: _, ...c }) => ({ ...c, state: "closed" })),
      histogram: histogram(k.bins), slices: [...k.slices.values()] })) };
}

// Returns the cells of one line of the canonical CSV, with quotes as in RFC 4180.
function cells(line) {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map((m) =>
    m[1].startsWith('"') ? m[1].slice(1, -1).replaceAll('""', '"') : m[1]);
}

function launchesOfCsv(file) {
  const lines = readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
  const head = cells(lines[0]);
  const [name, start, duration] = ["name", "start_ns", "duration_ns"].map((column) => head.indexOf(column));
  return lines.slice(1).map(cells).map((c) => [c[name], Number(c[start]), Number(c[duration])]);
}

// Reads a real session directory. If it has no overview, creates one from the replayed profile (CSV). `text` keeps the
// text of plan.json.
export function fromSession(folder, profile) {
  const file = (name) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8").trim() : null);
  const json = (name) => JSON.parse(file(name) ?? "null");
  const plan = json("plan.json");
  const position = new Map((plan?.kernels ?? []).map((k, i) => [k.name, i]));
  const events = (file("mask.ndjson") ?? "").split("\n").filter(Boolean).map((line) => JSON.parse(line))
    .map((e) => [e.event, e.index, position.get(e.kernel) ?? null, e.occurrence, e.cluster, e.time_ns]);
  const page = { schema: "stemtap.report/1", tool: plan?.tool, folder: basename(resolve(folder)),
    plan_file: `${basename(resolve(folder))}/plan.json`, plan_path: join(resolve(folder), "plan.json"), profile_path: "", made_unix_ms: Date.now(),
    session: json("session.json"), plan, evaluation: json("evaluation.json"), ranks: json("ranks.json"),
    overview: json("overview.json") ?? (profile ? overviewFromLaunches(plan, launchesOfCsv(profile)) : null),
    mask: { events, left_out: 0 } };
  return page;
}
