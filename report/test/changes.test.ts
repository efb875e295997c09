// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf, countsText, intervalText, largestChanges, leadText, meanA, meanB, partsText, shiftTexts, totalText, verdictText, type Change } from "../src/changes";
import { changeRows, changesOption, ratioRange } from "../src/charts/changes";
import { changesCsv } from "../src/csv";
import { makeModel, search } from "../src/model";
import { light } from "../src/theme";
import type { DiffKernel, Payload } from "../src/types";
import { kinds } from "./fixture.mjs";

type Any = any;
const payload = () => kinds.small() as unknown as Payload;

const kernel = (more: Partial<DiffKernel>): DiffKernel => ({ name: "k", verdict: "same", launches_a: 10, launches_b: 10,
  duration_a_ns: 1000, duration_b_ns: 1000, mean_a_ns: 100, mean_b_ns: 100, by_launches_ns: 0, by_shapes_ns: 0, by_duration_ns: 0,
  mean_change: 0, change: 0, lower: -0.001, upper: 0.001, p: 1, adjusted_p: 1, assumes_independence: false,
  basis: null, shift: 0, shift_lower: -0.002, shift_upper: 0.002, adjusted_shift_p: 1, reason: null, ...more });

function changes(...kernels: DiffKernel[]): Change[] {
  const data = payload();
  return changesOf(makeModel(data), { ...data.diff!, kernels });
}

test("a change selects the kernel of this session, and a kernel that is gone selects nothing", () => {
  const data = payload();
  const model = makeModel(data);
  const all = changesOf(model, data.diff!);
  assert.equal(all.length, data.diff!.kernels.length);
  for (const change of all) {
    assert.equal(change.time, change.diff.duration_b_ns - change.diff.duration_a_ns);
    assert.equal(change.kernel?.name ?? null, change.diff.verdict === "gone" ? null : change.diff.name);
  }
  assert.equal(new Set(all.map((change) => change.short)).size, all.length);
});

test("a kernel name with several launch configurations is one change", () => {
  const one = (grid: number, duration_ns: number) => ({ name: "k", grid: [grid, 1, 1] as [number, number, number], block: [32, 1, 1] as [number, number, number],
    invocations: 10, duration_ns });
  const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: [one(1, 300), one(2, 700)] } });
  const [change] = changesOf(model, { ...payload().diff!, kernels: [kernel({})] });
  assert.equal(change!.kernel?.duration, 700);
  assert.equal(change!.short, "k");
});

test("the chart includes slower and faster kernels even if others differ more, in the order of the table", () => {
  const many = Array.from({ length: 30 }, (_, i) => kernel({ name: `new ${i}`, verdict: "new", duration_a_ns: 0, duration_b_ns: 1e6 + i }));
  const slow = kernel({ name: "slow", verdict: "slower", duration_b_ns: 1050, by_duration_ns: 50 });
  const shown = largestChanges(changes(slow, ...many), 20);
  assert.equal(shown.length, 20);
  assert.equal(shown[0]!.name, "slow");
  assert.deepEqual(shown.slice(1).map((c) => c.name), many.slice(11).map((k) => k.name));
  assert.equal(largestChanges(changes(...many.map((k) => ({ ...k, verdict: "slower" as const })), kernel({ name: "huge", duration_b_ns: 1e9 })), 20)
    .filter((c) => c.name === "huge").length, 1);
});

test("bars and intervals show the figures of the comparison", () => {
  const given = changes(kernel({ verdict: "slower", duration_b_ns: 1050, change: 0.05, lower: 0.04, upper: 0.06 }),
    kernel({ name: "n", verdict: "new", duration_a_ns: 0, change: null, lower: null, upper: null, mean_change: null }));
  const option = changesOption(given, 0.01, light, 900) as Any;
  const [bars, intervals] = option.series;
  assert.deepEqual(bars.data.map((d: Any) => d.value), [[50, 0], [1000, 1]]);
  assert.deepEqual(intervals.data.map((d: Any) => d.value), [[1.05, 0], [null, 1]]);
  assert.deepEqual(intervals.markArea.data, [[{ xAxis: 0.99 }, { xAxis: 1.01 }]]);
  const verdict = option.yAxis[1].axisLabel.formatter;
  assert.deepEqual([verdict("0"), verdict("1")], ["slower +5.00 %", "new"]);
  assert.equal((changesOption(given, 0.01, light, 340) as Any).series.length, 1);
});

test("the axis contains every change and the band, and one wide interval does not flatten the others", () => {
  const near = (range: [number, number], low: number, high: number) => range.forEach((ratio, i) =>
    assert.ok(Math.abs(ratio - [low, high][i]!) < 1e-9, `${range}`));
  near(ratioRange([], 0.01), 1 / 1.02, 1.02);
  near(ratioRange(changes(kernel({ change: 0.05, lower: 0.04, upper: 0.06 })), 0.01), 1 / 1.02, 1.06);
  near(ratioRange(changes(kernel({ change: 0.05, lower: -0.9, upper: 20 })), 0.01), 1.05 ** -1.5, 1.05 ** 1.5);
  near(ratioRange(changes(kernel({ change: 9, lower: 8, upper: 9.5 })), 0.01), 1 / 1.02, 10.5);
});

test("a comparison opens with the kernels that changed most", () => {
  const changed = (name: string, more: Partial<DiffKernel>) => kernel({ name, verdict: "slower", basis: "mean", change: 0.05, ...more });
  assert.equal(leadText(changes(kernel({}), kernel({ name: "u", verdict: "unclear", duration_b_ns: 9e9 }))), "No kernel is shown to have changed.");
  assert.equal(leadText(changes(changed("small", { duration_b_ns: 3000 }), changed("large", { duration_b_ns: 1e6 + 1000 }),
    kernel({ name: "n", verdict: "new", duration_a_ns: 0, duration_b_ns: 5000 }), changed("tiny", { duration_b_ns: 1500 }))),
  "Changed most: large slower +5.00 % (+1.000 ms); n new (+5.000 us); small slower +5.00 % (+2.000 us); 1 more below.");
  assert.equal(leadText(changes(changed("m", { basis: "most launches", duration_b_ns: 3000 }))), "Changed most: m slower: most launches (+2.000 us).");
});

test("a kernel that is slower has a larger mean: the means are at equal shapes", () => {
  const [change] = changes(kernel({ verdict: "slower", change: 0.05, mean_a_ns: 100, mean_b_ns: 90, equal_mean_a_ns: 60, equal_mean_b_ns: 63 }));
  assert.deepEqual([meanA(change!.diff), meanB(change!.diff)], [60, 63]);
  assert.deepEqual(changeRows(change!).at(-1), ["mean", "60 ns → 63 ns"]);
  assert.deepEqual([meanA(kernel({ mean_a_ns: 7 })), meanB(kernel({ mean_b_ns: 8, equal_mean_b_ns: null }))], [7, 8]);
});

test("an unclear verdict has a reason", () => {
  const verdict = (more: Partial<DiffKernel>) => verdictText(changes(kernel(more))[0]!);
  assert.equal(verdict({ verdict: "slower" }), "slower");
  assert.equal(verdict({ verdict: "unclear", reason: "no order" }), "unclear: no order");
});

test("a verdict that is not about the mean shows it, with the change of most launches", () => {
  const of = (more: Partial<DiffKernel>) => changes(kernel({ verdict: "slower", ...more }));
  const [most] = of({ basis: "most launches" });
  assert.equal(verdictText(most!), "slower: most launches");
  assert.equal(verdictText(of({ basis: "mean" })[0]!), "slower");
  assert.deepEqual(shiftTexts(of({ basis: "mean" })), []);
  assert.deepEqual(shiftTexts(of({ basis: "most launches", shift: 1, shift_lower: 0.99, shift_upper: 1.01 })),
    ["Most launches of k changed by +100.0 % (+99.00 to +101.0 %), but its mean is uncertain."]);
});

test("the total has a verdict, and an interval or the reason why it is unclear", () => {
  const total = { verdict: "slower" as const, change: 0.02, lower: 0.0146, upper: 0.0254, reason: null };
  assert.equal(totalText(total), "slower (+1.46 to +2.54 %)");
  assert.equal(totalText({ ...total, verdict: "unclear", lower: null, upper: null, reason: "other shapes" }), "unclear: other shapes");
});

test("a known interval is in percent", () => {
  const text = (more: Partial<DiffKernel>) => intervalText(changes(kernel(more))[0]!);
  assert.equal(text({ lower: 0.0463, upper: 0.0579 }), "+4.63 to +5.79 %");
  assert.equal(text({ lower: -0.1, upper: 0 }), "−10.00 to 0 %");
  assert.equal(text({ lower: null, upper: null }), "–");
});

test("the answer has the number of kernels of each verdict, and the part by shapes only if shapes are known", () => {
  const diff = payload().diff!;
  assert.deepEqual(countsText(diff), ["1 slower", "1 faster", "1 new", "1 gone", "1 unclear", "9 same"]);
  const parts = { ...diff, by_duration_ns: 1_140_000, by_launches_ns: -5000, by_shapes_ns: 0, kernels: [] };
  assert.equal(partsText(parts), "+1.140 ms from durations, −5.000 us from numbers of launches");
  assert.equal(partsText({ ...parts, by_shapes_ns: 3e-8, kernels: [kernel({ by_shapes_ns: 3e-8 })] }), partsText(parts));
  assert.equal(partsText({ ...parts, by_shapes_ns: 7000, kernels: [kernel({ by_shapes_ns: 7000 })] }),
    "+1.140 ms from durations, −5.000 us from numbers of launches, +7.000 us from shapes");
});

test("the CSV has the columns of stemtap diff --csv, and a spreadsheet does not evaluate its names", () => {
  const [head, ...rows] = changesCsv(changes(kernel({ name: "=SUM(A1)", verdict: "gone", change: null, assumes_independence: true, reason: "no order" }))).trim().split("\r\n");
  assert.deepEqual(head!.split(",").slice(0, 3), ["name", "verdict", "launches_a"]);
  assert.deepEqual(rows[0]!.split(","), ["'=SUM(A1)", "gone", "10", "10", "1000", "1000", "100", "100", "0", "0", "0", "0", "", "-0.001",
    "0.001", "1", "1", "1", "", "0", "-0.002", "0.002", "1", "no order", "", ""]);
});

test("changes are found by the words of their names", () => {
  const all = changes(kernel({ name: "void a::gemm<float>()" }), kernel({ name: "b::softmax" }));
  assert.deepEqual(search(all, "GEMM float").map((c) => c.name), ["void a::gemm<float>()"]);
});
