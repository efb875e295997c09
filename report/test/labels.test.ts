// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { chartName, cutLabel, cutLabels } from "../src/charts/common";
import { differences } from "../src/labels";
import { makeModel } from "../src/model";

const functor = (what: string) => `void at::native::vectorized_elementwise_kernel<4, at::native::${what}<float>, ` +
  "std::array<char*, 3ul> >(int, at::native::Functor, std::array<char*, 3ul>)";

test("kernels of one name are distinguished by what differs", () => {
  assert.deepEqual(differences([functor("AddFunctor"), functor("MulFunctor")]), ["AddFunctor", "MulFunctor"]);
  // Words come before numbers and types.
  assert.deepEqual(differences(["f<2, Add<float>>", "f<4, Mul<half>>"]), ["Add", "Mul"]);
  // A combination of parts, if no part is unique.
  assert.deepEqual(differences(["f<2, Add>", "f<4, Add>", "f<2, Mul>", "f<4, Mul>"]),
    ["2…Add", "4…Add", "2…Mul", "4…Mul"]);
  // The number of equal parts.
  assert.deepEqual(differences(["f<1, 2, 1>", "f<2, 2, 1>"]), ["1", "2"]);
  // Nothing that the other name lacks: numbers.
  assert.deepEqual(differences(["f<a>", "f<a>"]), ["#1", "#2"]);
  assert.equal(new Set(differences(["f<a>", "f<a, b>", "f<a, b, b>"])).size, 3);
  assert.deepEqual(differences([]), []);
});

test("cut labels keep what differs, and are all different", () => {
  assert.equal(cutLabel("native::vectorized_elementwise_kernel<…MulFunctor…>", 30), "vectorized_elem…<…MulFunctor…>");
  assert.equal(cutLabel("native::elementwise_kernel<…direct_copy_kernel_cuda…float…>", 30), "eleme…<…direct_copy_kernel_cu…");
  assert.equal(cutLabel("short", 30), "short");
  const long = (end: string) => `Cijk_Alik_Bljk_${"UserArgs_".repeat(12)}MT${end}_SN_${"DTVA0_".repeat(9)}`;
  const labels = cutLabels([long("128x64"), long("256x64"), long("256x96")], 36);
  assert.equal(new Set(labels).size, 3);
  assert.ok(labels.every((label) => [...label].length <= 36), labels.join());
  assert.ok(labels[0]!.includes("MT128x64"), labels[0]);
});

test("the longest kernels of recorded profiles have different labels of every width", (t) => {
  const profiles = `${process.env["STEMTAP_SHARED"] ?? "../../shared"}/data/profiles`;
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
      const labels = cutLabels(shorts.map(chartName), max);
      assert.equal(new Set(labels).size, labels.length, `${file} at ${max}`);
      assert.ok(labels.every((label) => [...label].length <= max), `${file}: ${labels.find((l) => [...l].length > max)}`);
    }
  }
});
