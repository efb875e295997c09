// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { consumersOf, counterCommands, exportCommand, exportNote, extrapolateCommand, planCommand, replayCommand,
  separateShapesCommand } from "../src/commands";
import { times } from "../src/format";
import { makeModel, type Model } from "../src/model";
import type { Payload, PlanTotals, Session } from "../src/types";
import { judge, tiles } from "../src/verdict";
import { kinds } from "./fixture.mjs";

const payload = (kind: keyof typeof kinds) => kinds[kind]() as unknown as Payload;

test("a good session is trusted", () => {
  const verdict = judge(makeModel(payload("small")));
  assert.equal(verdict.level, "good");
  assert.equal(verdict.headline, "You can trust the bound");
  assert.ok(verdict.lines.every((line) => line.level === "good"));
});

test("times without recording are notes", () => {
  const data = payload("small");
  assert.ok(data.plan?.totals);
  Object.assign(data.plan.totals, { unobserved_intervals: 2, unobserved_launches: 1 });
  const notes = judge(makeModel(data)).lines.filter((line) => line.level === "note").map((line) => line.text);
  assert.deepEqual(notes, ["Recording was off 2 times.", "1 launch was counted and not observed."]);
});

test("every problem is reported", () => {
  const verdict = judge(makeModel(payload("hostile")));
  const said = verdict.lines.map((line) => line.text).join("\n");
  assert.equal(verdict.level, "bad");
  for (const words of [/above the requested 5 %/, /1,234 launch records were dropped/, /2 gaps/, /13\.0 % of the time/,
    /40 launches are imputed/, /3 launches have no unperturbed counterpart/, /\(4243\) was not recorded/,
    /signal 9/, /37 launches were not recorded/, /a warning with <script>/, /excluded by --exclude/, /observed error of this run is unknown/]) {
    assert.match(said, words);
  }
});

test("a single problem requires care", () => {
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

test("an error is good only if it is within the requested bound", () => {
  const said = (change: object, options = {}) => {
    const data = payload("small");
    Object.assign(data.plan!.totals!, change);
    Object.assign(data.plan!.options!, options);
    const model = makeModel(data);
    const line = judge(model).lines.find((l) => l.text.startsWith("The observed error of the total"))!;
    return { ...line, tile: tiles(model)[2]!.level };
  };
  const within = said({ observed_error: 0.866, bound: 1.7, certified_bound: 1.7 });
  assert.equal(within.level, "care");
  assert.equal(within.tile, "care");
  assert.match(within.text, /86\.6 %, more than requested/);
  assert.equal(said({}).tile, "good");
  assert.match(said({ observed_error: 1e-9 }).text, /is less than 0.0001 %/);
  assert.match(said({}).why, /calibrated weights it is 0 %/);
  assert.doesNotMatch(said({}, { weights: "plain" }).why, /calibrated/);
  // The confidence comes from the session.
  const covered = judge(makeModel(payload("small"))).lines[0]!;
  assert.match(covered.why, /covers the sampling error at 95 % confidence, plus the uncovered time and the bias of joined launches in full/);
});

test("an observed error above the certified bound is the stated bound", () => {
  const page = (change: object) => {
    const data = payload("small");
    Object.assign(data.plan!.totals!, change);
    return makeModel(data);
  };
  const model = page({ bound: 0.061, certified_bound: 0.048, observed_error: 0.061 });
  const texts = judge(model).lines.map((line) => `${line.text} ${line.why}`).join("\n");
  assert.match(texts, /error of the total is 6\.1\d* %, above the certified bound of 4\.8\d* %\. The stated bound is the observed error/);
  assert.match(texts, /The bound is 6\.1\d* %, above the requested 5 %\. The observed error exceeds the certified bound, 4\.8\d* %, so the bound is/);
  assert.doesNotMatch(texts, /drift|random|chance/);
  assert.match(tiles(model)[1]!.detail, /the observed error; certified bound: 4\.8\d* %/);
  assert.equal(tiles(model)[2]!.level, "care");
  // The observed error is within the requested bound.
  const small = page({ bound: 0.03, certified_bound: 0.02, observed_error: 0.03 });
  assert.match(judge(small).lines.map((line) => line.why).join("\n"), /so the bound is the observed error/);
  assert.doesNotMatch(judge(small).lines.map((line) => line.text).join("\n"), /confidence/);
  // A merged plan may contain only the errors of its sessions.
  const merged = page({ bound: 0.03, certified_bound: 0.02, observed_error: null });
  assert.match(judge(merged).lines.map((line) => line.why).join("\n"), /observed errors of some sessions exceed their certified bounds/);
  // An older plan has the certified bound as its bound, but the page states the observed error.
  const older = page({ bound: 0.048, certified_bound: undefined, observed_error: 0.061 });
  assert.deepEqual([older.bound, older.certified], [0.061, 0.048]);
  const within = page({ bound: 0.048, certified_bound: 0.048, observed_error: 0.01 });
  assert.deepEqual([within.bound, within.certified], [0.048, 0.048]);
  assert.deepEqual([page({ bound: null, certified_bound: null }).bound], [null]);
});

test("graph launches at level gate are reported with their share", () => {
  const data = payload("small");
  const session = data.session!;
  const has = (): boolean => judge(makeModel(data)).lines.some((line) => line.level === "care" &&
    /Kernels of 996 graph launches \(97(\.\d+)? % of the time\) cannot be captured one by one/.test(line.text));
  assert.ok(!has());
  session.counters!.losses!["graph_launches"] = 996;
  session.devices![0]!.graph_duration_ns = 0.97 * session.devices![0]!.duration_ns;
  assert.ok(has());
  session.counters!.losses!["graph_launches"] = 0;
  assert.ok(!has());
});

test("joined launches are reported with their share", () => {
  const data = payload("small");
  Object.assign(data.plan!.totals!, { joined_fraction: 0.012 });
  const verdict = judge(makeModel(data));
  assert.equal(verdict.level, "good");
  assert.ok(verdict.lines.some((line) => line.level === "note" && /1\.2\d* % of the time is in joined launches/.test(line.text)));
});

test("a session without launches makes no claims", () => {
  const data = payload("small");
  data.plan = { ...data.plan, kernels: [], totals: { invocations: 0, duration_ns: 0, kernels: 0, clusters: 0, samples: 0,
    sampled_duration_ns: 0, speedup: 0, bound: 0, observed_error: 0, uncovered_fraction: 0, dropped: 0, gaps: 0 } };
  const model = makeModel(data);
  assert.deepEqual(tiles(model).slice(0, 4).map((t) => [t.value, t.level === "good"]),
    [["–", false], ["–", false], ["–", false], ["–", false]]);
  assert.match(judge(model).lines[0]!.text, /No launch was recorded/);
});

test("tiles and commands agree with the plan", () => {
  const model = makeModel(payload("small"));
  assert.deepEqual(tiles(model).map((t) => t.name), ["Less to trace", "Error bound", "Observed error", "Uncovered time", "Dropped records"]);
  assert.deepEqual(tiles(model).map((t) => t.value), [times(model.data.plan!.totals!.speedup), "4.98 %", "0.72 %", "0 %", "0"]);
  assert.deepEqual(tiles(makeModel(payload("empty"))).filter((t) => t.level === "good"), []);
  assert.equal(exportCommand({ ...model, mode: "replay" }, "ncu"),
    "stemtap export --plan /runs/stemtap-decode/plan.json --to ncu -o stemtap-decode.ncu.sh");
  // Every command is valid.
  assert.ok(consumersOf({ ...model, mode: "replay" }).includes("perfetto"));
  assert.ok(!consumersOf({ ...model, mode: "live" }).includes("perfetto"));
  assert.equal(exportNote({ ...model, mode: "replay" }), "");
  const alone = makeModel({ ...payload("bare"), folder: "my plan.json", plan_file: "my plan.json",
    plan_path: "/my plan.json" });
  assert.equal(exportCommand({ ...alone, mode: "replay" }, "csv"), "stemtap export --plan '/my plan.json' --to csv -o 'my plan'.csv");
  assert.equal(extrapolateCommand(alone, "csv"), "stemtap extrapolate --plan '/my plan.json' --results RESULTS");
});

test("a page about a profile begins with the command that makes its plan", () => {
  const data = payload("bare");
  const model = makeModel({ ...data, folder: "run 1.csv", plan_file: "plan.json", plan_path: "", profile_path: "/data/run 1.csv" });
  assert.equal(planCommand(model), "stemtap plan '/data/run 1.csv' -o plan.json");
  assert.equal(exportCommand(model, "macsim"), "stemtap export --plan plan.json --to macsim -o 'run 1.csv'.macsim.txt");
  assert.equal(replayCommand(model), "stemtap replay '/data/run 1.csv'");
  assert.equal(separateShapesCommand(model), "stemtap plan --group-by launch '/data/run 1.csv'");
  assert.equal(planCommand(makeModel(data)), "");
  assert.equal(replayCommand(makeModel(data)), "");
});

test("the command that separates shapes repeats what ran, if that is known", () => {
  const model = makeModel(payload("small"));
  assert.equal(separateShapesCommand(model), "stemtap run --group-by launch -- python3 decode.py --tokens 64");
  assert.equal(separateShapesCommand({ ...model, mode: "replay" }), "stemtap replay --group-by launch decode.csv.zst");
  assert.equal(separateShapesCommand({ ...model, mode: "merged" }), "");
  const ranks = payload("small");
  ranks.plan!.source = "rank0.csv, rank1.csv";
  assert.equal(separateShapesCommand({ ...makeModel(ranks), mode: "replay" }), "");
});

test("counters with Nsight Compute have commands, or the reason why there are none", () => {
  const live = makeModel(payload("small"));
  const lines = (model: Model) => counterCommands(model).commands.split("\n");
  assert.equal(lines(live)[1],
    "NCU_OPTIONS='--metrics smsp__inst_executed.sum,dram__bytes.sum' REPORT=counters sh stemtap-decode.ncu.sh python3 decode.py --tokens 64");
  assert.match(lines({ ...live, mode: "replay" })[1]!, / sh stemtap-decode\.ncu\.sh PROGRAM$/);
  assert.match(counterCommands({ ...live, mode: "replay" }).note, /PROGRAM is the command of the recorded run, which this page does not contain/);
  assert.doesNotMatch(counterCommands(live).note, /PROGRAM/);
  assert.match(counterCommands(live).note, new RegExp(`at most ${live.samples.length} times`));
  const two = payload("small");
  two.session!.devices!.push({ ...two.session!.devices![0]!, device: 1 });
  assert.equal(counterCommands(makeModel(two)).commands, "");
  assert.match(counterCommands(makeModel(two)).note, /it launched on 2 devices/);
  const demo = { ...live, command: ["/usr/lib/fake_gpu/stemtap_play", "/tmp/x"] };
  assert.equal(counterCommands(demo).commands, "");
  assert.match(counterCommands(demo).note, /only on the simulated GPU/);
});

test("each device of a recorded run has a separate export", () => {
  const data = payload("small");
  data.session!.devices!.push({ ...data.session!.devices![0]!, device: 1 });
  const onOne = { ...makeModel(data), mode: "replay" };
  assert.match(exportCommand(onOne, "macsim"), /^for device in 0; do\n/, "device 1 has no samples");
  const model = { ...onOne, samples: onOne.samples.map((s, i) => ({ ...s, sample: { ...s.sample, device: i % 2 } })) };
  assert.equal(exportCommand(model, "macsim"), "for device in 0 1; do\n  stemtap export --plan /runs/stemtap-decode/plan.json " +
    "--processes per-device --device $device --to macsim -o stemtap-decode.macsim.$device.txt " +
    "--weights-csv stemtap-decode.ids.$device.csv\ndone");
  assert.match(extrapolateCommand(model, "macsim"), /--results RESULTS\.\$device --ids stemtap-decode\.ids\.\$device\.csv/);
  assert.match(extrapolateCommand(model, "ncu"), /--results RESULTS\.\$device --device \$device\n/, "ncu numbers what it profiled");
  assert.equal(exportCommand(model, "csv"), "stemtap export --plan /runs/stemtap-decode/plan.json --to csv -o stemtap-decode.csv");
  const elsewhere = { ...model, data: { ...data, profiles: ["/r/rank 0.csv", "/r/1.csv"] } };
  assert.equal(exportCommand(elsewhere, "csv"), "stemtap export --plan /runs/stemtap-decode/plan.json --profile '/r/rank 0.csv' /r/1.csv --to csv -o stemtap-decode.csv");
  assert.doesNotMatch(exportCommand({ ...elsewhere, mode: "live" }, "csv"), /--profile/);
  assert.match(counterCommands(model).commands, /^for device in 0 1; do\n  .*--device \$device --to ncu -o stemtap-decode\.ncu\.\$device\.sh\n/);
  assert.match(exportNote(model), /several devices.*per-device by one/);
});

test("a live run of several processes, devices or graphs is not exported as plain", () => {
  const fewer = (change: (session: Session, totals: Partial<PlanTotals>) => void, left: string[], why: RegExp) => {
    const data = payload("small");
    change(data.session!, data.plan!.totals!);
    const model = makeModel(data);
    assert.deepEqual(consumersOf(model), [...left, "csv"], String(change));
    assert.match(exportNote(model), why);
    assert.ok(consumersOf({ ...model, mode: "replay" }).includes("accelsim"));
  };
  fewer((session) => session.devices!.push({ ...session.devices![0]!, device: 1 }), [], /on 2 devices/);
  fewer((session) => session.devices!.push({ ...session.devices![0]!, pid: 7 }), [], /it had 2 processes/);
  fewer((session) => session.processes!.push({ pid: 7, state: "stood_down" }), [], /a process was not recorded/);
  fewer((session) => (session.devices![0]!.graph_kernels = 3), ["ncu"], /3 launches were made by CUDA graphs/);
  fewer((_, totals) => (totals.graph_launches = 3), [], /graphs were timed as one/);
});

test("merged sessions are exported as they were recorded, and live sessions one at a time", () => {
  const merged = (...modes: string[]) => {
    const data = payload("small");
    Object.assign(data.session!, { mode: "merged", sessions: modes.map((mode) => ({ mode })) });
    return makeModel(data);
  };
  assert.ok(consumersOf(merged("replay", "replay")).includes("accelsim"));
  assert.deepEqual(consumersOf(merged("live", "live")), ["csv"]);
  assert.deepEqual(consumersOf(merged("replay", "live")), ["csv"]);
  assert.match(exportNote(merged("live", "live")), /one session at a time: --device N/);
});

test("the user does not assert facts that are in session.json", () => {
  const model = makeModel(payload("small"));
  assert.doesNotMatch(exportCommand(model, "ncu"), /--plain-launches/);
  assert.equal(exportNote(model), "");
  // session.json has no graph_kernels, or there is no session.json.
  for (const session of [{ ...model.data.session!, devices: [{ ...model.data.session!.devices![0]!, graph_kernels: undefined }] }, null]) {
    const asserting = { ...model, mode: "live", data: { ...model.data, session: session as Session | null } };
    assert.match(exportCommand(asserting, "ncu"), /--plain-launches --to ncu/);
    assert.match(exportNote(asserting), /--plain-launches asserts/);
    assert.doesNotMatch(exportCommand(asserting, "csv"), /--plain-launches/);
  }
});
