// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import LRU from "zrender/lib/core/LRU.js";
import { activityOption, activityPoints, idleRanges, idleRows, imbalance } from "../src/charts/activity";
import { changesOf } from "../src/changes";
import { changesOption } from "../src/charts/changes";
import { driftOption, driftRange } from "../src/charts/drift";
import { histogramOption } from "../src/charts/histogram";
import { methodPoints, methodsOption, placeLabels } from "../src/charts/methods";
import { longestDuring, sampleTimes, shade, stripOf, stripOption, type Strip } from "../src/charts/strip";
import { rowsAt, timelineOption } from "../src/charts/timeline";
import { barsOption, categoriesOf } from "../src/charts/where";
import { percent } from "../src/format";
import { makeModel } from "../src/model";
import { rangesOf } from "../src/ranges";
import { categoryColor, contrast, dark, light } from "../src/theme";
import type { Payload } from "../src/types";
import { kinds } from "./fixture.mjs";

type Any = any;
const payload = (kind: keyof typeof kinds) => kinds[kind]() as unknown as Payload;

test("charts show the numbers of the files", () => {
  const data = payload("small");
  const model = makeModel(data);
  const bars = barsOption(model, light, 600) as Any;
  assert.deepEqual(bars.series[0].data.map((d: Any) => d.value), model.byTime.map((k) => k.duration));
  const label = bars.series[0].label.formatter({ dataIndex: 0 });
  assert.equal(label, `${percent(model.byTime[0]!.share)}, ${model.byTime[0]!.captured} samples`);
  bars.series[0].data.forEach((bar: Any, i: number) =>
    assert.equal(bar.itemStyle.color, categoryColor(light, model.categories.indexOf(model.byTime[i]!.category))));
  const kernel = model.byTime[0]!;
  const histogram = histogramOption(kernel, light, { logCount: false }) as Any;
  assert.deepEqual(histogram.series[0].data.map((b: number[]) => b.slice(0, 3)), kernel.histogram);
  assert.equal(histogram.series[1].data.length, kernel.captured);
  const timeline = timelineOption(model, light, "time") as Any;
  const bound = timeline.series.find((s: Any) => s.name === "bound");
  const bounds = data.overview!.timeline!.map((p) => p[6]);
  assert.deepEqual(bound.data.map((p: number[]) => p[1]), [...bounds.slice(0, -1), data.plan!.totals!.bound]);
  assert.equal(bound.markLine.data[0].yAxis, 0.05);
  const drift = driftOption(model, model.byTime[9]!, light) as Any;
  const lines = drift.series.filter((s: Any) => s.type === "line");
  assert.equal(lines.length, 7);
  assert.equal(lines[6].kernel, model.byTime[9]!.id);
});

test("dashed lines are at the boundaries of the plan's clusters", () => {
  const cluster = (lower_ns: number, upper_ns: number) => ({ lower_ns, upper_ns, count: 2, mean_ns: lower_ns, stddev_ns: 1,
    target: 1, captured: 1 });
  // The last cluster contains exploratory captures.
  const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: [{ name: "k", invocations: 6, duration_ns: 99,
    clusters: [cluster(10, 19), cluster(20, 49), cluster(90, 99), cluster(15, 30)] }] } });
  const option = histogramOption(model.kernels[0]!, light, { logCount: false }) as Any;
  assert.deepEqual(option.series[0].markLine.data.map((line: Any) => line.xAxis), [10, 20, 50, 90, 100]);
});

test("a hundred thousand samples of one kernel are combined into visible marks", () => {
  const sample = (i: number) => ({ index: i, occurrence: i, device: null, stream: null, grid: null, block: null,
    duration_ns: 1000 + (i * 7919) % 100_000, weight: 2 });
  const samples = Array.from({ length: 200_000 }, (_, i) => sample(i));
  const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: [{ name: "k", invocations: 400_000,
    duration_ns: 2e10, clusters: [{ lower_ns: 1000, upper_ns: 101_000, count: 400_000, mean_ns: 5e4, stddev_ns: 3e4,
      target: 200_000, captured: 200_000, samples }] }] } });
  const option = histogramOption(model.kernels[0]!, light, { logCount: false }) as Any;
  const marks = option.series[1].data.map((d: Any) => d.mark);
  assert.ok(marks.length > 100 && marks.length <= 400, `${marks.length} marks`);
  assert.equal(marks.reduce((a: number, m: Any) => a + m.count, 0), 200_000);
  assert.equal(Math.min(...marks.map((m: Any) => m.from)), 1000);
  assert.equal(Math.max(...marks.map((m: Any) => m.to)), 100_999);
});

test("every chart works with every fixture in both themes", () => {
  for (const kind of ["small", "hostile", "bare", "empty"] as const) {
    const model = makeModel(payload(kind));
    for (const theme of [light, dark]) {
      barsOption(model, theme, 300);
      const strip = stripOf(model);
      if (strip) stripOption(model, strip, theme);
      for (const by of ["time", "launches"] as const) timelineOption(model, theme, by);
      driftOption(model, model.byTime[0] ?? null, theme);
      activityOption(model, theme);
      const { diff } = model.data;
      for (const width of [300, 900]) if (diff) changesOption(changesOf(model, diff), diff.threshold, theme, width);
      for (const kernel of model.kernels) {
        const option = histogramOption(kernel, theme, { logCount: true }) as Any;
        assert.ok(option.xAxis[0].min > 0 && option.xAxis[0].max > option.xAxis[0].min, kernel.label);
      }
    }
  }
});

test("the tips of charts contain text and no markup", () => {
  const model = makeModel(payload("hostile"));
  for (const option of [barsOption(model, light, 600), driftOption(model, null, light),
    timelineOption(model, light, "time"), histogramOption(model.byTime[0]!, light, { logCount: false }), activityOption(model, light),
    stripOption(model, stripOf(model)!, light), changesOption(changesOf(model, model.data.diff!), 0.01, light, 900)] as Any[]) {
    // The default tips of ECharts would show names of series and data, so these names must not come from data.
    assert.equal(typeof option.tooltip.formatter, "function");
    for (const series of option.series) {
      assert.match(series.name ?? "", /^[a-zA-Z0-9 ]*$/);
      for (const datum of series.data) assert.match(datum?.name ?? "", /^[a-z0-9 ]*$/);
    }
  }
});

test("no name can modify a prototype through the cache of text widths", () => {
  const cache = new LRU<number>(9);
  for (const name of ["__proto__", "constructor", "valueOf"]) {
    assert.equal(cache.get(name) ?? null, null);
    cache.put(name, 1);
    assert.equal(cache.get(name), 1);
  }
  assert.equal(Object.hasOwn(Object.prototype, "next"), false);
});

test("methods have points for one workload or for all workloads", () => {
  const evaluation = payload("small").evaluation!;
  const one = methodPoints(evaluation, "decode.csv.zst");
  assert.equal(one.length, 9);
  assert.equal(one[0]!.high, evaluation.rows![0]!.error!.p95);
  assert.equal(methodPoints(evaluation, null)[0]!.high, evaluation.summary![0]!.error_max);
  const option = methodsOption([{ ...one[0]!, speedup: null }, one[1]!], dark, false, 600) as Any;
  assert.deepEqual(option.series[1].data.map((d: Any) => d.value), [[one[1]!.speedup, one[1]!.mean]]);
});

test("errors of any size, including 0, are on the log axis, and every requested bound has a line", () => {
  const point = (mean: number, asked: number) => ({ method: `m${mean}`, workload: "", asked, speedup: 10, mean, high: null,
    bound: null, coverage: null, samples: null, overBound: null });
  const option = methodsOption([point(0, 0.05), point(0.0004, 0.05), point(0.9, 0.01)], light, true, 600) as Any;
  const { min, max, type } = option.yAxis;
  assert.equal(type, "log");
  const shown = option.series[1].data.map((d: Any) => d.value[1]);
  assert.deepEqual(shown, [min, 0.0004, 0.9]);
  assert.ok(min > 0 && min < 0.0004 && max > 0.9);
  assert.deepEqual(option.series[0].markLine.data, [{ yAxis: 0.05 }, { yAxis: 0.01 }]);
  assert.ok((methodsOption([point(0, 0)], light, true, 600) as Any).yAxis.min > 0);
});

test("overlapping labels move apart", () => {
  const boxes = [{ x: 0, y: 0, width: 50 }, { x: 20, y: 3, width: 50 }, { x: 200, y: 0, width: 50 }];
  const [one, two, three] = placeLabels(boxes);
  assert.equal(three, 0);
  assert.ok(Math.abs(3 + two! - one!) >= 14, "the labels");
  assert.ok(Math.abs(3 - one!) >= 14, "the first label and the second point");
});

test("decisions are at the correct position although excluded launches are numbered", () => {
  const data = payload("small");
  const { invocations } = data.plan!.totals!;
  data.plan!.totals!.excluded_invocations = invocations; // every second launch
  data.mask = { events: [["close", Math.round(invocations!), 0, 0, 0, null]] };
  const model = makeModel(data);
  const at = (by: "time" | "launches") => {
    const option = timelineOption(model, light, by) as Any;
    const end = option.xAxis[0].max;
    return { share: option.series.find((s: Any) => s.name === "decisions").data[0][0] / end, end,
      last: option.series[0].data.at(-1)[0] };
  };
  assert.ok(Math.abs(at("time").share - 0.5) < 0.02, `${at("time").share}`);
  assert.ok(Math.abs(at("launches").share - 0.5) < 0.02, `${at("launches").share}`);
  assert.equal(at("launches").end, 2 * invocations!);
  assert.equal(at("launches").last, 2 * invocations!);
});

test("a bound of 0 is at the lower end of the log axis, and its tip shows 0", () => {
  const data = payload("small");
  data.overview!.timeline!.at(-1)![6] = 0;
  data.overview!.timeline!.at(-2)![6] = 1e-12;
  data.plan!.options!["error_bound"] = 1e-6; // the minimum: its line is on the axis
  data.overview!.state = "running";
  const model = makeModel(data);
  const option = timelineOption(model, light, "time") as Any;
  const bound = option.series.find((s: Any) => s.name === "bound");
  const { min } = option.yAxis[2];
  assert.deepEqual(bound.data.slice(-2).map((p: number[]) => p[1]), [min, min]);
  assert.ok(min > 1e-7 && min < 1e-6, `${min}`); // so its marks are distinct
  const last = bound.data.length - 1;
  assert.deepEqual(rowsAt(model.timeline, [{ seriesName: "bound", dataIndex: last, value: bound.data[last] },
    { seriesName: "captures", dataIndex: 0, value: [0, 1234] }, { seriesName: "decisions", dataIndex: 0, value: [0, 2, 7] }]),
  [["bound", "0 %"], ["captures", "1,234"], ["reopen", "7"]]);
});

test("an outlier does not flatten the drift of other slices, and has a mark", () => {
  const data = payload("small");
  const slices = (slow: number) => Array.from({ length: 64 }, (_, i): [number, number, number] => [i, 10, i === 20 ? slow : 1000 + i]);
  for (const kernel of data.overview!.kernels!) kernel.slices = slices(1030);
  const chart = (slow: number) => {
    data.overview!.kernels![0]!.slices = slices(slow);
    return driftOption(makeModel(data), null, light) as Any;
  };
  const marksOf = (option: Any) => option.series.find((s: Any) => s.name === "beyond the axis").data;
  const even = chart(1020);
  assert.deepEqual(marksOf(even), []);
  const option = chart(200_000);
  assert.equal(option.yAxis.type, "log");
  assert.ok(option.yAxis.max < 1.5 && option.yAxis.min > 0.2, `${option.yAxis.min} to ${option.yAxis.max}`);
  const marks = marksOf(option);
  assert.equal(marks.length, 1);
  assert.equal(marks[0].value[1], option.yAxis.max);
  assert.ok(marks[0].ratio > 30); // the line and its tip keep the value
  assert.equal(option.series[0].data[20][1], marks[0].ratio);
  // The mark of a slice with a ratio below the range is at the bottom.
  const low = marksOf(chart(1));
  assert.deepEqual(low.map((m: Any) => m.symbolRotate), [180]);
});

test("the range of the drift contains all ratios that are near each other", () => {
  assert.deepEqual(driftRange([]), [0.8 / 1.03, 1.25 * 1.03]);
  const [low, high] = driftRange([[1, null, 1, 1.4], [0, 1]]);
  assert.ok(low <= 0.8 && low > 0.7 && high >= 1.4 && high < 1.5);
  // The range contains both levels of a line, regardless of other lines.
  const levels = Array.from({ length: 64 }, (_, i) => (i < 10 ? 0.01 : 1.2));
  assert.ok(driftRange([...Array.from({ length: 9 }, () => levels.map(() => 1)), levels])[0] < 0.01);
});

test("activity is the mean over the devices within the run", () => {
  const data = payload("small");
  const width = 1_000_000;
  data.overview!.activity = { devices: 2, start_ns: 0, width_ns: width, count: 4,
    slices: [[0, 10, 900_000, 500_000], [1, 5, 3_000_000, 2_000_000], [3, 2, 400_000, 400_000]] };
  data.session!.devices = [{ ...data.session!.devices![0]!, start_ns: 500_000, span_ns: 3_000_000 }];
  const points = activityPoints(makeModel(data));
  assert.deepEqual(points.map((p) => p.busy), [0.5, 1, 0, 0.4]); // half of the first and last slices is in the run
  assert.deepEqual(points.map((p) => p.rate), [20_000, 5_000, 0, 4_000]);
  assert.equal(points[1]!.load, 1.5);
  assert.deepEqual(idleRanges(points), [[2 * width, 3 * width]]);
  const option = activityOption(makeModel(data), light) as Any;
  assert.deepEqual(option.series.map((s: Any) => s.name), ["launches per second", "busy", "kernel time"]);
  data.overview!.activity = null;
  assert.deepEqual(activityPoints(makeModel(data)), []);
});

test("gaps are summed over the devices, and imbalance is relative to the mean", () => {
  const [device] = payload("small").session!.devices!;
  assert.deepEqual(idleRows([{ ...device!, idle: [[1000, 2, 5000]] }, { ...device!, idle: [[0, 1, 9], [1000, 3, 7000]] },
    { ...device!, idle: undefined }]), [{ lower: 0, gaps: 1, idle: 9 }, { lower: 1000, gaps: 5, idle: 12_000 }]);
  assert.equal(imbalance([3, 1]), 0.5);
  assert.equal(imbalance([3]), null);
  assert.equal(imbalance([0, 0]), null);
});

test("ranges have the launches and time that their samples represent", () => {
  const model = makeModel(payload("small"));
  const rows = model.samples.slice(0, 3).map((row, i) => ({ ...row, sample: { ...row.sample, weight: 10, duration_ns: 5,
    range: i === 2 ? null : "a/b", step: i === 0 ? 4 : null } }));
  for (const { kernel, cluster } of rows) Object.assign(kernel.clusters[cluster]!, { count: 7 * kernel.clusters[cluster]!.samples.length });
  const [first, second] = rangesOf(rows);
  // Launches are the launches of a cluster per sample. Time uses the weights of the plan.
  assert.deepEqual([first!.name, first!.samples, first!.launches, first!.time, first!.steps], ["a/b", 2, 14, 100, [4, 4]]);
  assert.deepEqual([second!.name, second!.steps], ["(no range)", null]);
});

// Two slices of 1 ms with 10 and 30 launches, in a run that begins in the middle of the first slice.
function twoSlices(): Payload {
  const data = payload("small");
  data.overview!.activity = { devices: 1, start_ns: 5_000_000, width_ns: 1_000_000, count: 2,
    slices: [[0, 10, 400_000, 400_000], [1, 30, 250_000, 250_000]] };
  data.session!.devices = [{ ...data.session!.devices![0]!, start_ns: 5_500_000, span_ns: 1_500_000 }];
  return data;
}

test("samples are drawn when they ran, or by their launch number", () => {
  const data = twoSlices();
  const samples = data.plan!.kernels![0]!.clusters![0]!.samples!;
  for (const kernel of data.plan!.kernels!) for (const cluster of kernel.clusters!) cluster.samples = [];
  const at = (index: number) => ({ ...samples[0]!, index });
  data.plan!.kernels![0]!.clusters![0]!.samples = [at(3), at(9), at(24), at(39)];
  data.mask = { events: [["capture", 9, 0, 0, 0, 5_700_000], ["capture", 11, 0, 0, 0, 5_800_000], ["close", 3, 0, 0, 0, 6_000_000]] };
  const model = makeModel(data);
  // Launch 9 has a time. Launch 11 was captured, but is not a sample.
  const near = (values: number[], wanted: number[]) => values.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]!) < 1, `${values}`));
  near(sampleTimes(model), [350_000, 700_000, 1_000_000 + 14.5e6 / 30, 1_000_000 + 29.5e6 / 30]);
  const strip = stripOf(model)!;
  assert.deepEqual([strip.first, strip.last], [500_000, 2_000_000]);
  assert.deepEqual(strip.slices.map(({ from, to, samples: n }) => [from, to, n]), [[500_000, 1_000_000, 2], [1_000_000, 2_000_000, 2]]);
  assert.deepEqual(strip.slices.map(({ busy }) => busy), [0.8, 0.25]);
  data.overview!.activity = null;
  assert.equal(stripOf(makeModel(data)), null);
});

test("each device has a row, and the samples have one", () => {
  const data = twoSlices();
  data.overview!.activity!.devices = 2;
  assert.deepEqual(stripOf(makeModel(data))!.rows, ["busy"]); // an older version recorded only the sum
  data.overview!.activity!.by_device = [{ process: 0, device: 0, slices: [[0, 400_000]] },
    { process: 0, device: null, slices: [[1, 250_000], [99, 1]] }];
  const strip = stripOf(makeModel(data))!;
  assert.deepEqual(strip.rows, ["device 0", "device ?"]);
  assert.deepEqual(strip.slices.map(({ shares }) => shares), [[0.8, 0], [0, 0.25]]);
  const option = stripOption(makeModel(data), strip, light) as Any;
  assert.deepEqual(option.yAxis.data, ["device 0", "device ?", "samples"]);
  assert.deepEqual(option.series[0].data.map(([, row]: number[]) => row), [0, 1, 0, 1]);
  assert.ok(option.series[1].data.every(([, row]: number[]) => row === 2));
  data.overview!.processes!.push({ pid: 4300 });
  data.overview!.activity!.by_device[1]!.process = 1;
  assert.deepEqual(stripOf(makeModel(data))!.rows, ["4242:0", "4300:?"]);
});

test("a slice that is hardly busy differs from one that is idle", () => {
  for (const theme of [light, dark]) {
    assert.equal(shade(theme, 0), theme.line);
    assert.equal(shade(theme, 1), theme.accent);
    assert.ok(contrast(shade(theme, 0.001), theme.line) > 1.05);
  }
});

test("a hundred thousand samples are drawn as distinct ticks, and none is lost", () => {
  const model = makeModel(twoSlices());
  const strip: Strip = { ...stripOf(model)!, samples: Array.from({ length: 100_000 }, (_, i) => 500_000 + i * 15) };
  const ticks = (stripOption(model, strip, light) as Any).series[1];
  assert.ok(ticks.data.length > 300 && ticks.data.length <= 600, `${ticks.data.length}`);
  const part = (stripOption(model, strip, light, { from: 0.5, to: 0.75 }) as Any);
  assert.deepEqual([part.xAxis.min, part.xAxis.max], [750_000, 1_125_000]);
  assert.ok(part.series[1].data.every(([x]: number[]) => x! >= 750_000 && x! <= 1_125_000));
});

test("a slice has the kernels that took the most time in it", () => {
  const data = twoSlices();
  data.overview!.slices = { start_ns: 4_000_000, width_ns: 2_000_000, count: 2 };
  data.overview!.kernels!.forEach((kernel, i) => (kernel.slices = i === 0 ? [[0, 1, 300]] : i === 1 ? [[0, 1, 100], [1, 5, 900]] : []));
  const model = makeModel(data);
  const names = (from: number, to: number) => longestDuring(model, from, to).map(([kernel, share]) => [kernel.name, share]);
  const [one, two] = data.overview!.kernels!.map((kernel) => kernel.name);
  assert.deepEqual(names(500_000, 1_000_000), [[one, 0.75], [two, 0.25]]);
  assert.deepEqual(names(1_000_000, 2_000_000), [[two, 1]]);
});

test("categories add up to the time of the kernels", () => {
  const model = makeModel(payload("small"));
  const categories = categoriesOf(model);
  assert.equal(categories.reduce((a, c) => a + c.duration, 0), model.duration);
  assert.equal(categories.reduce((a, c) => a + c.kernels.length, 0), 14);
  assert.deepEqual(categories.map((c) => c.duration), categories.map((c) => c.duration).sort((a, b) => b - a));
  assert.deepEqual(categoriesOf(makeModel({ ...payload("small"), categories: undefined })), []);
  assert.deepEqual(categoriesOf(makeModel({ ...payload("small"), plan: null })), []); // categories belong to the plan's kernels
});

test("an isolated slice is visible", () => {
  const data = payload("small");
  const [kernel] = data.overview!.kernels!;
  kernel!.slices = [[3, 1, 10], [7, 1, 10], [8, 1, 10]];
  const { symbolSize, data: points } = (driftOption(makeModel(data), null, light) as Any).series[0];
  const seen = points.map((_: Any, dataIndex: number) => symbolSize(null, { dataIndex }) > 0 && points[dataIndex][1] !== null);
  assert.deepEqual(seen.flatMap((s: boolean, i: number) => (s ? [i] : [])), [3]);
});

test("0 ns has a mark on the log axis", () => {
  const kernel = makeModel(payload("hostile")).kernels.find((k) => k.duration === 0)!;
  const { axisLabel } = (histogramOption(kernel, light, { logCount: false }) as Any).xAxis[1];
  assert.deepEqual(axisLabel.customValues.map(axisLabel.formatter), ["0 ns", "1 ns"]);
});

test("colors are readable in both themes", () => {
  for (const theme of [light, dark]) {
    for (const color of [theme.ink, theme.quiet, theme.bad, theme.care]) assert.ok(contrast(color, theme.surface) >= 4.5, color);
    for (const color of [...theme.series, theme.rest]) {
      assert.ok(contrast(theme.on, color) >= 4.5, `text on ${color}: ${contrast(theme.on, color)}`);
      assert.ok(contrast(color, theme.surface) >= 4.5, color); // labels of methods
    }
    for (const color of [theme.accent, theme.second, theme.axis]) assert.ok(contrast(color, theme.surface) >= 3, color);
  }
});
