// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { cutNames, differences } from "../src/labels";
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

// As in tests/base/cut_names_test.cpp.
const elementwise = [
  "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<BinaryFunctor<BFloat16, BFloat16, BFloat16, MulFunctor<float> > >" +
    "(TensorIteratorBase&)::{lambda(int)#1}>",
  "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<direct_copy_kernel_cuda(TensorIteratorBase&)::{lambda()#3}::operator()() " +
    "const::{lambda()#12}>(TensorIteratorBase&)::{lambda(int)#1}>",
  "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<CUDAFunctor_add<BFloat16> >(TensorIteratorBase&)::{lambda(int)#1}>",
  "elementwise_kernel<128, 2, gpu_kernel_impl_nocast<BinaryFunctor<float, float, float, MulFunctor<float> > >" +
    "(TensorIteratorBase&)::{lambda(int)#1}>",
];

test("cut names keep what differs, in a wide and in a narrow column", () => {
  assert.deepEqual(cutNames(elementwise, 21), ["elementwi…MulFunctor…", "elementwise…direct…3…", "elementw…CUDAFunctor…", "element…2…MulFunctor…"]);
  assert.deepEqual(cutNames(elementwise, 42), ["elementwise_kernel…4…BFloat16…MulFunctor…", "elementwise_kerne…direct_copy_kernel_cuda…",
    "elementwise_kernel…CUDAFunctor_add…lambda…", "elementwise_kernel…2…float…MulFunctor…int…"]);
  assert.deepEqual(cutNames(["short", "short", ""], 16), ["short", "short", ""]);
});

test("no word is shown twice, and long identifiers are cut between words", () => {
  assert.deepEqual(cutNames(["volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1", "volta_scudnn_128x64_stridedB_xregs_large_nn_v1",
    "volta_scudnn_128x64_relu_xregs_large_nn_v1"], 32), ["volta_scudnn…stridedB_splitK…nn…", "volta_scudnn_128x64_stridedB…nn…", "volta_scudnn_128x64_relu_xregs…"]);
  const long = (end: string) => `Cijk_Alik_Bljk_${"UserArgs_".repeat(12)}MT${end}_SN_${"DTVA0_".repeat(9)}`;
  for (const [i, label] of cutNames([long("128x64"), long("256x64"), long("256x96")], 36).entries()) {
    assert.ok([...label].length <= 36 && label.includes(["MT128x64", "MT256x64", "MT256x96"][i]!), label);
  }
});

test("a launch configuration is cut last", () => {
  const launch = (name: string, config: string) => `${name} <<<${config}, 128>>>`;
  assert.deepEqual(cutNames([launch(elementwise[0]!, "8×4"), launch(elementwise[0]!, "16"), launch(elementwise[2]!, "8×4")], 42), ["elementwise_kern…MulFunctor…<<<8×4, 128>>>",
    "elementwise_kerne…MulFunctor…<<<16, 128>>>", "elementwise_kernel…CUDAFunctor_add…lambda…"]);
});

test("names without a part that differs within the width are numbered", () => {
  assert.deepEqual(cutNames([`${"x".repeat(100)}a`, `${"x".repeat(100)}b`, "<".repeat(40), "<".repeat(41)], 16),
    ["xxxxxxxxxxx… (1)", "xxxxxxxxxxx… (2)", `${"<".repeat(11)}… (3)`, `${"<".repeat(11)}… (4)`]);
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
      const labels = cutNames(shorts, max);
      assert.equal(new Set(labels).size, labels.length, `${file} at ${max}`);
      assert.ok(labels.every((label) => [...label].length <= max), `${file}: ${labels.find((l) => [...l].length > max)}`);
    }
  }
});
