// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { kernelsCsv, samplesCsv } from "../src/csv";
import { makeModel } from "../src/model";
import { memberText, parse, unpack } from "../src/payload";
import type { Payload } from "../src/types";
import { kinds } from "./fixture.mjs";

const payload = (kind: keyof typeof kinds) => kinds[kind]() as unknown as Payload;
const pack = (text: string) => gzipSync(text).toString("base64");

test("unpacked data equals the original data", async () => {
  const text = JSON.stringify({ schema: "stemtap.report/1", folder: "é \u{1F680}" });
  assert.equal(await unpack(`\n${pack(text)}\n`), text);
  assert.equal(parse(text).folder, "é \u{1F680}");
});

test("missing, damaged and unknown data are reported", async () => {
  await assert.rejects(unpack("@STEMTAP" + "_DATA@"), /page is empty/);
  await assert.rejects(unpack("*** no base64 ***"), /not base64/);
  await assert.rejects(unpack(pack("x".repeat(9999)).slice(0, 20)), /truncated/);
  assert.throws(() => parse("{"), /not JSON/);
  assert.throws(() => parse("null"), /schema/);
  assert.throws(() => parse('{"schema":"stemtap.report/2"}'), /stemtap\.report\/2/);
});

test("a browser that cannot unpack is distinguished from damaged data", async () => {
  const { DecompressionStream } = globalThis;
  try {
    Reflect.deleteProperty(globalThis, "DecompressionStream");
    await assert.rejects(unpack(pack("{}")), /browser cannot unpack/);
  } finally {
    Object.assign(globalThis, { DecompressionStream });
  }
  assert.equal(await unpack(pack("{}")), "{}");
});

test("the text of a member has exactly the bytes of its file", () => {
  const plan = ' {\n "a": [1.0, {"b": "}\\"]"}],\n "n": 18446744073709551615 }\r\n';
  const text = `{"schema":"stemtap.report/1", "trap": "\\"plan\\":{}", "session" : {"plan": 1}, "plan" :${plan}, "z":null}`;
  assert.equal(memberText(text, "plan"), plan);
  assert.equal(memberText(text, "z"), "null");
  assert.equal(memberText(text, "none"), null);
  assert.equal(memberText("[]", "plan"), null);
});

test("CSV keeps names, and each row is one line", () => {
  const model = makeModel(payload("hostile"));
  const text = kernelsCsv(model.kernels);
  assert.ok(text.includes('"quotes "" \' ` \\ and, commas; and\ttabs\nand lines"'));
  assert.ok(text.includes(`"'=HYPERLINK(""x"")"`));
  assert.ok(!/(^|,)"?[=+@]/m.test(text));
  assert.ok(text.startsWith("kernel,name,invocations,duration_ns,"));
  assert.equal(samplesCsv(model.samples).trimEnd().split("\r\n").length, model.samples.length + 1);
});
