// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import LRU from "zrender/lib/core/LRU.js";
import { driftOption } from "../src/charts/drift";
import { histogramOption } from "../src/charts/histogram";
import { methodPoints, methodsOption, placeLabels } from "../src/charts/methods";
import { rowsAt, timelineOption } from "../src/charts/timeline";
import { barsOption, treemapOption } from "../src/charts/where";
import { kernelsCsv, samplesCsv } from "../src/csv";
import { percent, times } from "../src/format";
import { makeModel } from "../src/model";
import { memberText, parse, unpack } from "../src/payload";
import { contrast, dark, light } from "../src/theme";
import type { Payload } from "../src/types";
import { exportCommand, extrapolateCommand, judge, tiles } from "../src/verdict";
import { kinds } from "./fixture.mjs";

type Any = any;
const payload = (kind: keyof typeof kinds) => kinds[kind]() as unknown as Payload;
const pack = (text: string) => gzipSync(text).toString("base64");

test("the data is unpacked as it was packed", async () => {
  const text = JSON.stringify({ schema: "stemtap.report/1", folder: "é \u{1F680}" });
  assert.equal(await unpack(`\n${pack(text)}\n`), text);
  assert.equal(parse(text).folder, "é \u{1F680}");
});

test("data that is not there, damaged or of another kind is said to be", async () => {
  await assert.rejects(unpack("@STEMTAP" + "_DATA@"), /empty page/);
  await assert.rejects(unpack("*** no base64 ***"), /no base64/);
  await assert.rejects(unpack(pack("x".repeat(9999)).slice(0, 20)), /cut short/);
  assert.throws(() => parse("{"), /no JSON/);
  assert.throws(() => parse("null"), /schema/);
  assert.throws(() => parse('{"schema":"stemtap.report/2"}'), /stemtap\.report\/2/);
});

test("a member's text is the file's own, byte for byte", () => {
  const plan = ' {\n "a": [1.0, {"b": "}\\"]"}],\n "n": 18446744073709551615 }\r\n';
  const text = `{"schema":"stemtap.report/1", "trap": "\\"plan\\":{}", "session" : {"plan": 1}, "plan" :${plan}, "z":null}`;
  assert.equal(memberText(text, "plan"), plan);
  assert.equal(memberText(text, "z"), "null");
  assert.equal(memberText(text, "none"), null);
  assert.equal(memberText("[]", "plan"), null);
});

test("charts show the numbers of the files", () => {
  const data = payload("small");
  const model = makeModel(data);
  const treemap = treemapOption(model, light) as Any;
  assert.equal(treemap.series[0].data.reduce((a: number, d: Any) => a + d.value, 0), data.plan!.totals!.duration_ns);
  const bars = barsOption(model, light, 600) as Any;
  assert.deepEqual(bars.series[0].data.map((d: Any) => d.value), model.byTime.map((k) => k.duration));
  const label = bars.series[0].label.formatter({ dataIndex: 0 });
  assert.equal(label, `${percent(model.byTime[0]!.share)}, ${model.byTime[0]!.captured} samples`);
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
  assert.equal(drift.series.length, 7);
  assert.equal(drift.series[6].kernel, model.byTime[9]!.id);
});

test("dashed lines stand where the plan's clusters meet", () => {
  const cluster = (lower_ns: number, upper_ns: number) => ({ lower_ns, upper_ns, count: 2, mean_ns: lower_ns, stddev_ns: 1,
    target: 1, captured: 1 });
  // The last is of what was captured at first sight.
  const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: [{ name: "k", invocations: 6, duration_ns: 99,
    clusters: [cluster(10, 19), cluster(20, 49), cluster(90, 99), cluster(15, 30)] }] } });
  const option = histogramOption(model.kernels[0]!, light, { logCount: false }) as Any;
  assert.deepEqual(option.series[0].markLine.data.map((line: Any) => line.xAxis), [10, 20, 50, 90, 100]);
});

test("a hundred thousand samples of one kernel are drawn as what can be told apart", () => {
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

test("every chart can be made of every fixture, in both themes", () => {
  for (const kind of ["small", "hostile", "bare", "empty"] as const) {
    const model = makeModel(payload(kind));
    for (const theme of [light, dark]) {
      treemapOption(model, theme);
      barsOption(model, theme, 300);
      for (const by of ["time", "launches"] as const) timelineOption(model, theme, by);
      driftOption(model, model.byTime[0] ?? null, theme);
      for (const kernel of model.kernels) {
        const option = histogramOption(kernel, theme, { logCount: true }) as Any;
        assert.ok(option.xAxis[0].min > 0 && option.xAxis[0].max > option.xAxis[0].min, kernel.label);
      }
    }
  }
});

test("no text of a chart's tips is handed over as markup", () => {
  const model = makeModel(payload("hostile"));
  for (const option of [treemapOption(model, light), barsOption(model, light, 600), driftOption(model, null, light),
    timelineOption(model, light, "time"), histogramOption(model.byTime[0]!, light, { logCount: false })] as Any[]) {
    // Names of series and data reach ECharts' own default tips: they must be ours.
    assert.equal(typeof option.tooltip.formatter, "function");
    for (const series of option.series) {
      assert.match(series.name ?? "", /^[a-zA-Z0-9 ]*$/);
      for (const datum of series.data) assert.match(datum?.name ?? "", /^[a-z0-9 ]*$/);
    }
  }
});

test("no name can reach a prototype through the cache of text widths", () => {
  const cache = new LRU<number>(9);
  for (const name of ["__proto__", "constructor", "valueOf"]) {
    assert.equal(cache.get(name) ?? null, null);
    cache.put(name, 1);
    assert.equal(cache.get(name), 1);
  }
  assert.equal(Object.hasOwn(Object.prototype, "next"), false);
});

test("methods are points of one workload or of all", () => {
  const evaluation = payload("small").evaluation!;
  const one = methodPoints(evaluation, "decode.csv.zst");
  assert.equal(one.length, 9);
  assert.equal(one[0]!.high, evaluation.rows![0]!.error!.p95);
  assert.equal(methodPoints(evaluation, null)[0]!.high, evaluation.summary![0]!.error_max);
  const option = methodsOption([{ ...one[0]!, speedup: null }, one[1]!], dark, false, 600) as Any;
  assert.deepEqual(option.series[1].data.map((d: Any) => d.value), [[one[1]!.speedup, one[1]!.mean]]);
});

test("errors of every size have their place on the log axis, 0 too, and every bound asked its line", () => {
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

test("labels that would cover one another move apart", () => {
  const boxes = [{ x: 0, y: 0, width: 50 }, { x: 20, y: 3, width: 50 }, { x: 200, y: 0, width: 50 }];
  const [one, two, three] = placeLabels(boxes);
  assert.equal(three, 0);
  assert.ok(Math.abs(3 + two! - one!) >= 14, "the labels");
  assert.ok(Math.abs(3 - one!) >= 14, "the first label and the second point");
});

test("a good session is trusted", () => {
  const verdict = judge(makeModel(payload("small")));
  assert.equal(verdict.level, "good");
  assert.equal(verdict.headline, "You can trust the bound");
  assert.ok(verdict.lines.every((line) => line.level === "good"));
});

test("decisions stand where they fell, though excluded launches are numbered too", () => {
  const data = payload("small");
  const { invocations } = data.plan!.totals!;
  data.plan!.totals!.excluded_invocations = invocations; // every other launch
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

test("a bound of 0 stands at the foot of the log axis, and is told as what it is", () => {
  const data = payload("small");
  data.overview!.timeline!.at(-1)![6] = 0;
  data.overview!.timeline!.at(-2)![6] = 1e-12;
  data.overview!.state = "running";
  const model = makeModel(data);
  const option = timelineOption(model, light, "time") as Any;
  const bound = option.series.find((s: Any) => s.name === "bound");
  const { min } = option.yAxis[2];
  assert.deepEqual(bound.data.slice(-2).map((p: number[]) => p[1]), [min, min]);
  assert.ok(min > 1e-6, `${min}`); // so that its marks can be told apart
  const last = bound.data.length - 1;
  assert.deepEqual(rowsAt(model.timeline, [{ seriesName: "bound", dataIndex: last, value: bound.data[last] },
    { seriesName: "captures", dataIndex: 0, value: [0, 1234] }, { seriesName: "decisions", dataIndex: 0, value: [0, 2, 7] }]),
  [["bound", "0 %"], ["captures", "1,234"], ["reopen", "7"]]);
});

test("a slice that stands alone is seen", () => {
  const data = payload("small");
  const [kernel] = data.overview!.kernels!;
  kernel!.slices = [[3, 1, 10], [7, 1, 10], [8, 1, 10]];
  const { symbolSize, data: points } = (driftOption(makeModel(data), null, light) as Any).series[0];
  const seen = points.map((_: Any, dataIndex: number) => symbolSize(null, { dataIndex }) > 0 && points[dataIndex][1] !== null);
  assert.deepEqual(seen.flatMap((s: boolean, i: number) => (s ? [i] : [])), [3]);
});

test("0 ns has its mark on the log axis", () => {
  const kernel = makeModel(payload("hostile")).kernels.find((k) => k.duration === 0)!;
  const { axisLabel } = (histogramOption(kernel, light, { logCount: false }) as Any).xAxis[1];
  assert.deepEqual(axisLabel.customValues.map(axisLabel.formatter), ["0 ns", "1 ns"]);
});

test("each thing that costs trust is said", () => {
  const verdict = judge(makeModel(payload("hostile")));
  const said = verdict.lines.map((line) => line.text).join("\n");
  assert.equal(verdict.level, "bad");
  for (const words of [/above the 5 % asked/, /1,234 launch records were dropped/, /2 gaps/, /13\.0 % of the time/,
    /40 launches count with the mean/, /3 launches never ran without a tracer/, /Nothing was recorded of .*4243/,
    /signal 9/, /a warning with <script>/, /left out by --exclude/, /error of this very run is not known/]) {
    assert.match(said, words);
  }
});

test("single faults make a session to be careful with", () => {
  const totals = (change: object) => {
    const data = payload("small");
    Object.assign(data.plan!.totals!, change);
    return judge(makeModel(data)).level;
  };
  assert.equal(totals({ dropped: 1 }), "care");
  assert.equal(totals({ dropped: 1e6 }), "bad");
  assert.equal(totals({ uncovered_fraction: 0.001 }), "care");
  assert.equal(totals({ bound: null }), "care");
  assert.equal(totals({ bound: 0.0501 }), "care");
  assert.equal(totals({ bound: 0.101 }), "bad");
  assert.equal(totals({ observed_error: 0.06 }), "care");
  assert.equal(totals({ observed_error: 0.06, bound: 0.07 }), "care");
  assert.equal(totals({ imputed: 4, observed_error: null }), "good");
  assert.equal(totals({ samples: 0 }), "bad");
  assert.equal(judge(makeModel(payload("empty"))).level, "bad");
});

test("an error is called fine only when it is within what was asked", () => {
  const said = (change: object, options = {}) => {
    const data = payload("small");
    Object.assign(data.plan!.totals!, change);
    Object.assign(data.plan!.options!, options);
    const model = makeModel(data);
    const line = judge(model).lines.find((l) => l.text.startsWith("The estimate of this run's time"))!;
    return { ...line, tile: tiles(model)[2]!.level };
  };
  const within = said({ observed_error: 0.866, bound: 1.7 });
  assert.equal(within.level, "care");
  assert.equal(within.tile, "care");
  assert.match(within.text, /86\.6 %, more than was asked for/);
  assert.equal(said({}).tile, "good");
  assert.match(said({ observed_error: 1e-9 }).text, /off by less than 0.001 %/);
  assert.match(said({}).why, /calibrated: with them it is off by 0 %/);
  assert.doesNotMatch(said({}, { weights: "plain" }).why, /calibrated/);
  // The confidence is the session's own.
  assert.match(said({ observed_error: 0.06 }, { confidence: 0.99 }).why, /1 % may miss it/);
});

test("a session without launches claims nothing", () => {
  const data = payload("small");
  data.plan = { ...data.plan, kernels: [], totals: { invocations: 0, duration_ns: 0, kernels: 0, clusters: 0, samples: 0,
    sampled_duration_ns: 0, speedup: 0, bound: 0, observed_error: 0, uncovered_fraction: 0, dropped: 0, gaps: 0 } };
  const model = makeModel(data);
  assert.deepEqual(tiles(model).slice(0, 4).map((t) => [t.value, t.level === "good"]),
    [["–", false], ["–", false], ["–", false], ["–", false]]);
  assert.match(judge(model).lines[0]!.text, /No launch was recorded/);
});

test("tiles and commands say what the plan says", () => {
  const model = makeModel(payload("small"));
  assert.deepEqual(tiles(model).map((t) => t.name), ["Speedup", "Error bound", "Observed error", "Uncovered time", "Lost records"]);
  assert.deepEqual(tiles(model).map((t) => t.value), [times(model.data.plan!.totals!.speedup), "4.98 %", "0.72 %", "0 %", "0"]);
  assert.deepEqual(tiles(makeModel(payload("empty"))).filter((t) => t.level === "good"), []);
  assert.equal(exportCommand({ ...model, mode: "replay" }, "ncu"),
    "stemtap export --plan stemtap-decode/plan.json --to ncu");
  assert.equal(exportCommand({ ...model, mode: "live" }, "ncu"),
    "stemtap export --plan stemtap-decode/plan.json --plain-launches --to ncu");
  assert.equal(exportCommand({ ...model, mode: "live" }, "csv"),
    "stemtap export --plan stemtap-decode/plan.json --to csv");
  const alone = makeModel({ ...payload("bare"), folder: "my plan.json", plan_file: "my plan.json" });
  assert.equal(exportCommand({ ...alone, mode: "replay" }, "csv"), "stemtap export --plan 'my plan.json' --to csv");
  assert.equal(extrapolateCommand(alone), "stemtap extrapolate --plan 'my plan.json' --results RESULTS");
});

test("CSV keeps names as they are and one row a row", () => {
  const model = makeModel(payload("hostile"));
  const text = kernelsCsv(model.kernels);
  assert.ok(text.includes('"quotes "" \' ` \\ and, commas; and\ttabs\nand lines"'));
  assert.ok(text.includes(`"'=HYPERLINK(""x"")"`));
  assert.ok(!/(^|,)"?[=+@]/m.test(text));
  assert.ok(text.startsWith("kernel,name,invocations,duration_ns,"));
  assert.equal(samplesCsv(model.samples).trimEnd().split("\r\n").length, model.samples.length + 1);
});

test("colours can be read in both themes", () => {
  for (const theme of [light, dark]) {
    for (const colour of [theme.ink, theme.quiet, theme.bad, theme.care]) assert.ok(contrast(colour, theme.surface) >= 4.5, colour);
    for (const colour of [...theme.series, theme.rest]) {
      assert.ok(contrast(theme.on, colour) >= 4.5, `text on ${colour}: ${contrast(theme.on, colour)}`);
      assert.ok(contrast(colour, theme.surface) >= 4.5, colour); // labels of methods
    }
    for (const colour of [theme.accent, theme.second, theme.axis]) assert.ok(contrast(colour, theme.surface) >= 3, colour);
  }
});
