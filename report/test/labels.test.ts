// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { cutNames, differences } from "../src/labels";
import { makeModel } from "../src/model";

const functor = (what: string) => `void at::native::vectorized_elementwise_kernel<4, at::native::${what}<float>, ` +
  "std::array<char*, 3ul> >(int, at::native::Functor, std::array<char*, 3ul>)";

test("kernels with the same name are distinguished by the parts that differ", () => {
  assert.deepEqual(differences([functor("AddFunctor"), functor("MulFunctor")]), ["AddFunctor", "MulFunctor"]);
  // Words take precedence over numbers and types.
  assert.deepEqual(differences(["f<2, Add<float>>", "f<4, Mul<half>>"]), ["Add", "Mul"]);
  // If no part is unique, a combination of parts is used.
  assert.deepEqual(differences(["f<2, Add>", "f<4, Add>", "f<2, Mul>", "f<4, Mul>"]),
    ["2…Add", "4…Add", "2…Mul", "4…Mul"]);
  // The number of repetitions of a part is used.
  assert.deepEqual(differences(["f<1, 2, 1>", "f<2, 2, 1>"]), ["1", "2"]);
  // If nothing differs, the names are numbered.
  assert.deepEqual(differences(["f<a>", "f<a>"]), ["#1", "#2"]);
  assert.equal(new Set(differences(["f<a>", "f<a, b>", "f<a, b, b>"])).size, 3);
  assert.deepEqual(differences([]), []);
});

// tests/model/cut_names_test.cpp also reads this file, because stemtap cuts the names in its tables in the same way.
const source = process.env["STEMTAP_SOURCE"] ?? "..";
const examples: { what: string; width: number; names: string[]; cut: string[] }[] =
  JSON.parse(readFileSync(`${source}/tests/data/cut_names.json`, "utf8"));

test("names are cut as in the examples of cut_names.json", () => {
  assert.ok(examples.length > 8);
  for (const { what, width, names, cut } of examples) assert.deepEqual(cutNames(names, width), cut, what);
});

test("a launch configuration is cut last", () => {
  const launch = (name: string, config: string) => `${name} <<<${config}, 128>>>`;
  const elementwise = examples[0]!.names;
  assert.deepEqual(cutNames([launch(elementwise[0]!, "8×4"), launch(elementwise[0]!, "16"), launch(elementwise[2]!, "8×4")], 42), ["elementwise_kern…MulFunctor…<<<8×4, 128>>>",
    "elementwise_kerne…MulFunctor…<<<16, 128>>>", "elementwise_kernel…CUDAFunctor_add…lambda…"]);
});

test("the longest kernels of recorded profiles have different labels for every width", (t) => {
  const profiles = `${source}/../shared/data/profiles`;
  if (!existsSync(profiles)) {
    t.skip(`there is no ${profiles}`);
    return;
  }
  for (const file of readdirSync(profiles).filter((name) => /^(kineto|nsysai|tracelens|hta|deepseek).*csv\.gz$/.test(name))) {
    const lines = gunzipSync(readFileSync(`${profiles}/${file}`)).toString("utf8").split("\n");
    const names = [...new Set(lines.slice(1).map((line) => line.match(/"(.*)"\s*$/)?.[1] ?? line.split(",").at(-1)!))]
      .filter((name) => name !== "");
    const model = makeModel({ schema: "stemtap.report/1", plan: { kernels: names.map((name, i) =>
      ({ name, invocations: 1, duration_ns: i + 1 })) } });
    const shorts = model.kernels.map((kernel) => kernel.short);
    assert.equal(new Set(shorts).size, shorts.length, `${file}: ${shorts.filter((s, i) => shorts.indexOf(s) !== i)}`);
    for (const max of [16, 38, 56]) {
      const labels = cutNames(shorts, max);
      assert.equal(new Set(labels).size, labels.length, `${file} at ${max}`);
      assert.ok(labels.every((label) => [...label].length <= max), `${file}: ${labels.find((l) => [...l].length > max)}`);
    }
  }
});
