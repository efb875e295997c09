// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { missingParts, missingText } from "../src/missing";
import { makeModel } from "../src/model";
import { rankSentences } from "../src/sections/ranks";
import { headFigures, titleOf } from "../src/title";
import type { Payload } from "../src/types";
import { kinds } from "./fixture.mjs";

const payload = (kind: keyof typeof kinds) => kinds[kind]() as unknown as Payload;
const titleText = (data: Payload) => titleOf(makeModel(data)).map((part) => (typeof part === "string" ? part : part.name)).join("");
const run = () => ({ ...payload("small"), diff: null });

test("the title is the question that the page answers", () => {
  assert.equal(titleText(run()), "Where the GPU time of python3 decode.py --tokens 64 goes");
  const live = run();
  live.session!.command = ["/opt/my env/bin/python3", "/srv/train me.py"];
  assert.equal(titleText(live), "Where the GPU time of python3 '/srv/train me.py' goes");
  const replay = run();
  replay.session!.command = replay.overview!.command = [];
  replay.plan!.source = "/data/a/rank0.csv.gz, /data/a/rank1.csv.gz";
  assert.equal(titleText(replay), "Where the GPU time of rank0.csv.gz, rank1.csv.gz goes");
  const merged = run();
  merged.session = { ...merged.session, command: [], sessions: [{}, {}, {}] };
  merged.overview!.command = [];
  assert.equal(titleText(merged), "Where the GPU time of 3 sessions goes");
  const plan: Payload = { ...payload("bare"), folder: "plan.json", plan_file: "plan.json" };
  assert.equal(titleText(plan), "Which launches represent decode.csv.zst");
  assert.equal(titleText({ ...plan, folder: "decode.csv.zst" }), "Where the GPU time of decode.csv.zst goes");
  assert.equal(titleText(payload("empty")), "Report of a session");
});

test("the title of a comparison has both runs", () => {
  const data = payload("small");
  assert.equal(titleText(data), "What changed from last-week to stemtap-decode");
  const between = (a: string, b: string) => {
    data.diff!.a.source = a;
    data.diff!.b.source = b;
    return titleText(data);
  };
  assert.equal(between("/runs/monday/before.csv", "after"), "What changed from before.csv to after");
  assert.equal(between("old/run/", "new/run/"), "What changed from old/run/ to new/run/");
});

test("a long or hostile name is short and visible in the title", () => {
  const data = run();
  data.session!.command = ["python3", "x".repeat(500), "\u202E"];
  const [, name] = titleOf(makeModel(data));
  assert.ok(typeof name === "object" && name.name.length === 60 && name.name.endsWith("…"));
  assert.ok(!titleText(data).includes("\u202E"));
});

test("the first figures are those of the plan, and unknown ones are absent", () => {
  const labels = (data: Payload) => headFigures(makeModel(data)).map(({ value, label }) => `${value} ${label}`);
  const data = run();
  const shown = labels(data);
  assert.deepEqual(shown.slice(2, 4), ["80.0 % busy", "4.98 % error bound"]);
  assert.match(shown[0]!, / GPU time$/);
  assert.match(shown[1]!, / launches$/);
  assert.match(shown[4]!, /× less to trace$/);
  assert.doesNotMatch(labels(payload("bare")).join(), /busy/);
  data.session!.devices!.push({ ...data.session!.devices![0]!, busy_ns: 0 });
  assert.equal(labels(data)[2], "40.0 % busy, mean of 2 devices");
  assert.deepEqual(labels(payload("empty")), []);
});

test("one line lists what the page lacks, and why", () => {
  assert.equal(missingText(makeModel(payload("small"))), "");
  const text = (change: Partial<Payload>) => missingText(makeModel({ ...run(), ...change }));
  assert.equal(text({ overview: null, mask: null }),
    "Not on this page: activity, histograms, timeline, drift: the session has no overview.json.");
  assert.equal(text({ overview: null }), "Not on this page: activity, histograms, drift: the session has no overview.json.");
  assert.equal(text({ session: null }), "Not on this page: idle time and devices, losses and processes: the session has no session.json.");
  assert.equal(text({ session: null, overview: null, mask: null }),
    "Not on this page: activity, idle time and devices, histograms, timeline, drift, losses and processes: a plan has no session.");
  const merged = run();
  merged.session!.mode = "merged";
  Object.assign(merged.overview!, { activity: null, slices: null });
  assert.equal(missingText(makeModel(merged)),
    "Not on this page: activity, drift: machines do not share a clock.");
  const unordered = run();
  Object.assign(unordered.overview!, { activity: null, slices: null });
  assert.equal(missingText(makeModel(unordered)), "Not on this page: activity: the launches have no start times, " +
    "or an old version of stemtap recorded them; drift: the launches have no start times.");
  const nothing = run();
  Object.assign(nothing.plan!, { kernels: [], totals: { invocations: 0 } });
  Object.assign(nothing.overview!, { kernels: [], observed: 0, activity: null });
  nothing.mask = { events: [] };
  assert.deepEqual(missingParts(makeModel(nothing)), [{ why: "no launch was recorded",
    parts: ["kernels", "activity", "histograms", "timeline", "drift"] }]);
});

test("the ranks of a job: which is slow, and on which kernels they differ", () => {
  const data = payload("small");
  const sentences = () => rankSentences(makeModel(data), data.ranks!).map(({ text, isCare }) => (isCare ? `! ${text}` : text));
  const [slow, apart, ...others] = sentences();
  assert.match(slow!, /^! Rank 3 on node-0 is 8\.20 % slower than the others \(7\.90 % to 8\.40 %\) in 19\.7 % of the time: .*, .*, .* and 2 more\.$/);
  assert.match(apart!, /^2 kernels, 25\.0 % of the time, take longer on some ranks: .*, .*\.$/);
  assert.deepEqual(others, []);
  for (const rank of data.ranks!.ranks!) rank.slow = false;
  data.ranks!.kernels_apart!.kernels = [];
  assert.deepEqual(sentences(), ["No rank is slow: 12 kernels compared."]);
  data.ranks!.kernels_compared = 0;
  assert.deepEqual(sentences(), ["No kernel was compared: that takes five ranks which launch it."]);
  data.ranks = { kernels_compared: 1, kernels_apart: {}, ranks: [{ rank: 3, slow: true }] };
  assert.match(sentences().join(), /^! Rank 3 on  is – slower than the others \(– to –\) in – of the time: \.$/);
  data.ranks = {};
  assert.deepEqual(sentences(), ["No kernel was compared: that takes five ranks which launch it."]);
});
