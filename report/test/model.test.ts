// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { driftOf } from "../src/charts/drift";
import { clusterOf } from "../src/charts/histogram";
import { binEvents, elapsedAt } from "../src/charts/timeline";
import { topParts } from "../src/charts/where";
import { makeModel, search, spread } from "../src/model";
import type { MaskEvent, Payload, PlanKernel } from "../src/types";
import { drawnPoints, moved, scaled, whole, type View } from "../src/zoom";
import { kinds } from "./fixture.mjs";

const small = () => kinds.small() as unknown as Payload;
const hostile = () => kinds.hostile() as unknown as Payload;

test("shares add up to 1, and kernels are ranked by time", () => {
  const model = makeModel(small());
  assert.equal(model.kernels.length, 14);
  const total = model.kernels.reduce((a, k) => a + k.share, 0);
  assert.ok(Math.abs(total - 1) < 1e-9);
  model.byTime.forEach((k, i) => assert.equal(k.rank, i));
  for (let i = 1; i < model.byTime.length; ++i) assert.ok(model.byTime[i - 1]!.duration >= model.byTime[i]!.duration);
});

test("histograms of the overview are joined to their kernels", () => {
  const model = makeModel(small());
  for (const kernel of model.kernels) {
    assert.equal(kernel.histogram.reduce((a, b) => a + b[2], 0), kernel.invocations);
    assert.equal(kernel.slices.reduce((a, s) => a + s[2], 0), kernel.duration);
  }
});

test("kernels with the same name are joined by grid, block and process", () => {
  const kernel = (process: number, n: number): PlanKernel => ({ name: "k", process, invocations: n, duration_ns: n });
  const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: [kernel(1, 5), kernel(2, 9)] },
    overview: { kernels: [{ name: "k", process: 2, grid: null, block: null, invocations: 9, duration_ns: 9,
      histogram: [[1, 2, 9]] }, { name: "k", process: 1, grid: null, block: null, invocations: 5, duration_ns: 5,
      histogram: [[1, 2, 5]] }] } });
  assert.deepEqual(model.kernels.map((k) => k.histogram[0]![2]), [5, 9]);
  assert.notEqual(model.kernels[0]!.label, model.kernels[1]!.label);
});

test("names that became equal are joined by their launches", () => {
  const k = (n: number) => ({ name: "\uFFFD", invocations: n, duration_ns: n });
  const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: [k(5), k(9)] },
    overview: { kernels: [{ ...k(9), histogram: [[1, 2, 9]] }, { ...k(5), histogram: [[1, 2, 5]] }] } });
  assert.deepEqual(model.kernels.map((x) => x.histogram[0]![2]), [5, 9]);
});

test("kernels by launch configuration are distinguished by grid and block", () => {
  const kernel = (grid: [number, number, number]): PlanKernel => ({ name: "void a::k<float>(int)", grid, block: [128, 1, 1],
    invocations: 1, duration_ns: 1 });
  const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: [kernel([8, 4, 1]), kernel([1, 1, 1])] } });
  assert.deepEqual(model.kernels.map((k) => k.short), ["void a::k<float>(int) <<<8×4, 128>>>", "void a::k<float>(int) <<<1, 128>>>"]);
  assert.match(model.kernels[0]!.label, /grid 8×4×1 · block 128×1×1/);
});

test("a sample of a pool is shown with its own kernel", () => {
  const sample = { index: 3, occurrence: 0, device: 0, stream: 7, grid: null, block: null, duration_ns: 5, weight: 2, pooled: 1 };
  const pooled = [{ name: "copy", invocations: 2, duration_ns: 6 }, { name: "fill", invocations: 2, duration_ns: 8 }];
  const model = makeModel({ schema: "stemtap.report/1", brief_names: { fill: "f" }, plan: { kernels: [{ name: "(pooled kernels)",
    invocations: 4, duration_ns: 14, pooled, clusters: [{ lower_ns: 1, upper_ns: 9, count: 4, mean_ns: 3.5, stddev_ns: 1,
      target: 1, captured: 1, samples: [sample] }] }] } });
  assert.deepEqual(model.samples.map((s) => [s.label, s.short]), [["fill", "f"]]);
  assert.deepEqual(model.kernels[0]!.pooled.map((k) => k.name), ["copy", "fill"]);
});

test("a mangled name is shown in its brief form", () => {
  const data = small();
  const name = data.plan!.kernels![0]!.name = "_ZN3lib4gemmIfEEvPT_";
  data.brief_names = { [name]: "gemm<float>" };
  const kernel = makeModel(data).kernels[0]!;
  assert.equal(kernel.short, "gemm<float>");
  assert.equal(kernel.label, name);
  assert.equal(search(makeModel(data).kernels, "gemm<f")[0]!.name, name);
  data.brief_names = 7 as never;
  assert.equal(makeModel(data).kernels[0]!.short, name);
});

test("kernels that differ only in parameters have different short names", () => {
  const names = ["void f(AddInto)", "void f(Gelu)"];
  const model = makeModel({ schema: "stemtap.report/1", brief_names: Object.fromEntries(names.map((name) => [name, "f"])),
    plan: { kernels: names.map((name) => ({ name, invocations: 1, duration_ns: 1 })) } });
  assert.deepEqual(model.kernels.map((k) => k.short), ["f […AddInto…]", "f […Gelu…]"]);
});

test("a session without a plan has the kernels of its overview", () => {
  const data = small();
  const model = makeModel({ ...data, plan: null });
  assert.equal(model.kernels.length, 14);
  assert.equal(model.samples.length, 0);
  assert.ok(model.kernels[0]!.captured > 0);
});

test("every part may be absent", () => {
  const data = small();
  for (const part of ["plan", "overview", "session", "evaluation", "ranks", "mask"] as const) {
    assert.doesNotThrow(() => makeModel({ ...data, [part]: null }), part);
  }
  const model = makeModel({ schema: "stemtap.report/1" });
  assert.deepEqual([model.kernels.length, model.bound, model.asked, model.timeline.length], [0, null, null, 0]);
  assert.doesNotThrow(() => makeModel({ schema: "stemtap.report/1", plan: {}, overview: {}, session: {}, mask: {} }));
  assert.doesNotThrow(() => makeModel({ schema: "stemtap.report/1", plan: { kernels: [{} as PlanKernel] } }));
});

test("names of prototype members are ordinary names", () => {
  const model = makeModel(hostile());
  assert.equal(model.kernels.filter((k) => k.name === "__proto__" || k.name === "constructor").length, 2);
  const kernel = model.kernels.find((k) => k.name === "__proto__")!;
  assert.ok(kernel.histogram.length > 0);
});

test("uncovered time is the time of clusters without a sample", () => {
  const cluster = { lower_ns: 1, upper_ns: 9, count: 10, mean_ns: 5, stddev_ns: 1, target: 2 };
  const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: [{ name: "k", invocations: 20,
    duration_ns: 100, clusters: [{ ...cluster, captured: 0 }, { ...cluster, captured: 1 }] }] } });
  assert.equal(model.kernels[0]!.uncovered, 50);
});

test("the spread of clusters is the spread of all their launches", () => {
  // 2, 4 and 10, 12 have mean 7 and squares 25 + 9 + 9 + 25.
  const all = spread([{ count: 2, mean: 3, stddev: 1 }, { count: 2, mean: 11, stddev: 1 }]);
  assert.ok(Math.abs(all! - Math.sqrt(17) / 7) < 1e-12);
  assert.equal(spread([]), null);
  assert.equal(spread([{ count: 3, mean: 0, stddev: 0 }]), null);
});

test("the remaining kernels are one part, and no time is missing", () => {
  const model = makeModel(small());
  const parts = topParts(model, 5);
  assert.equal(parts.length, 6);
  assert.equal(parts[5]!.kernel, null);
  assert.equal(parts.reduce((a, p) => a + p.duration, 0), model.duration);
  assert.equal(parts.reduce((a, p) => a + p.invocations, 0), model.invocations);
  assert.equal(topParts(model, 14).length, 14);
});

test("a bin in two clusters belongs to one of them", () => {
  const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: [{ name: "k", invocations: 2, duration_ns: 2,
    clusters: [{ lower_ns: 0, upper_ns: 9, count: 1, mean_ns: 5, stddev_ns: 0, target: 1, captured: 1 },
      { lower_ns: 10, upper_ns: 19, count: 1, mean_ns: 15, stddev_ns: 0, target: 1, captured: 1 }] }] } });
  const kernel = model.kernels[0]!;
  assert.equal(clusterOf(kernel, 8, 12), 0);
  assert.equal(clusterOf(kernel, 10, 12), 1);
  assert.equal(clusterOf(kernel, 30, 31), -1);
});

test("every event is counted once", () => {
  const model = makeModel(small());
  const bins = binEvents(model.events, (i) => Math.min(i, model.invocations), 0, model.invocations, 40);
  assert.equal(bins.reduce((a, b) => a + b[2], 0), model.events.length);
  const captures = bins.filter((b) => b[1] === 0).reduce((a, b) => a + b[2], 0);
  assert.equal(captures, model.samples.length);
  // Unknown kinds and invalid indexes are skipped.
  assert.equal(binEvents([["other" as "close", 1, 0, 0, 0, 0], ["close", -1, 0, 0, 0, 0]], (i) => i, 0, 10, 4).length, 0);
});

test("events in a part of the axis keep their positions", () => {
  const events = [5, 10, 11, 19, 20, 21].map((index): MaskEvent => ["close", index, 0, 0, 0, null]);
  assert.deepEqual(binEvents(events, (i) => i, 10, 20, 10), [[10.5, 1, 1], [11.5, 1, 1], [19.5, 1, 2]]);
  assert.deepEqual(binEvents(events, () => 0, 0, 0, 10), [[0, 1, 6]]);
});

test("a part of an axis stays within the axis and around the pointer", () => {
  const close = (view: View, from: number, to: number) =>
    assert.ok(Math.abs(view.from - from) < 1e-12 && Math.abs(view.to - to) < 1e-12, JSON.stringify(view));
  close(scaled(whole, 0.5, 0.5), 0.25, 0.75);
  close(scaled(whole, 0.5, 0), 0, 0.5);
  close(scaled({ from: 0.5, to: 1 }, 0.5, 1), 0.75, 1);
  close(scaled({ from: 0.5, to: 0.75 }, 2, 0.5), 0.375, 0.875);
  close(scaled({ from: 0, to: 0.25 }, 100, 0.9), 0, 1);
  close(moved({ from: 0.25, to: 0.5 }, 0.5), 0.375, 0.625);
  close(moved({ from: 0.25, to: 0.5 }, -9), 0, 0.25);
  close(moved({ from: 0.25, to: 0.5 }, 9), 0.75, 1);
  const deepest = Array.from({ length: 50 }).reduce<View>((view) => scaled(view, 0.5, 0.5), whole);
  assert.ok(deepest.to - deepest.from > 0.001);
});

test("a line in a part of the axis includes one point on each side", () => {
  const points = [0, 10, 20, 30, 40];
  const drawn = (from: number, to: number) => drawnPoints(points, (x) => x, from, to);
  assert.deepEqual(drawn(0, 40), points);
  assert.deepEqual(drawn(15, 20), [10, 20, 30]);
  assert.deepEqual(drawn(21, 22), [20, 30]);
  assert.deepEqual(drawn(50, 60), [40]);
  assert.deepEqual(drawnPoints([], () => 0, 0, 1), []);
});

test("the bound ends at the plan's bound", () => {
  const data = small();
  data.overview!.timeline!.at(-1)![6] = 0.0507;
  const bounds = () => makeModel(data).timeline.map((p) => p.bound);
  assert.equal(bounds().at(-1), data.plan!.totals!.bound);
  assert.equal(bounds().at(-2), data.overview!.timeline!.at(-2)![6]);
  data.overview!.state = "running"; // the plan is newer
  assert.equal(bounds().at(-1), 0.0507);
  data.overview!.state = "ended";
  data.plan!.totals!.bound = null;
  assert.ok(bounds().every((bound) => bound === null));
});

test("elapsed time is interpolated between the timeline's points", () => {
  const point = (elapsed: number, observed: number) => ({ elapsed, observed, duration: 0, captured: 0,
    capturedDuration: 0, open: 0, bound: null, dropped: 0 });
  const timeline = [point(1, 100), point(3, 300)];
  assert.equal(elapsedAt(timeline, 50), 0.5);
  assert.equal(elapsedAt(timeline, 200), 2);
  assert.equal(elapsedAt(timeline, 900), 3);
  assert.equal(elapsedAt([], 1), null);
});

test("drift is relative to the median of the slices, and null where the kernel did not run", () => {
  const kernel = makeModel(small()).kernels[0]!;
  const drift = driftOf({ ...kernel, slices: [[0, 2, 20], [2, 2, 60], [99, 1, 1e9]].slice(0, 2) as never }, 3);
  assert.deepEqual(drift, [0.5, null, 1.5]);
  // A slow launch in one slice does not change the other slices.
  assert.deepEqual(driftOf({ ...kernel, slices: [[0, 9, 90], [1, 9, 90], [2, 9, 9000]] }, 3), [1, 1, 100]);
  assert.deepEqual(driftOf({ ...kernel, slices: [] }, 2), [null, null]);
  assert.deepEqual(driftOf({ ...kernel, slices: [[0, 1, 0]] }, 1), [null]);
});

test("a search needs every word, in any order and case", () => {
  const model = makeModel(small());
  const found = search(model.kernels, "TILE gemm");
  assert.ok(found.length > 0 && found.every((k) => k.name.includes("gemm")));
  assert.equal(search(model.kernels, "nothing of the kind").length, 0);
  assert.equal(search(model.kernels, "  ").length, 14);
});
