// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { compact, evenTicks, ticksBetween } from "../src/charts/common";
import { count, duration, durationChange, durationsUpTo, percent, percentChange, shellPath, shellWord, tidy, times, visible } from "../src/format";

test("durations have a suitable unit and are not rounded up to the next unit", () => {
  assert.equal(duration(0), "0 ns");
  assert.equal(duration(812), "812 ns");
  assert.equal(duration(6112), "6.112 us");
  assert.equal(duration(999_940), "999.9 us");
  assert.equal(duration(999_960), "1.000 ms");
  assert.equal(duration(3_644_973_152), "3.645 s");
  assert.equal(duration(2_224_265_885_334), "2,224 s");
  assert.equal(duration(null), "–");
  assert.equal(duration(Number.NaN), "–");
});

test("counts, shares and factors have separators and only significant digits", () => {
  assert.equal(count(816000), "816,000");
  assert.equal(percent(0.0498), "4.98 %");
  assert.equal(percent(0), "0 %");
  assert.equal(percent(1e-9), "< 0.0001 %");
  assert.equal(tidy(percent(1e-6)), "0.0001 %");
  assert.equal(percent(-1e-9), "> −0.0001 %");
  assert.equal(percent(1), "100 %");
  assert.equal(percent(0.00994), "0.99 %");
  assert.equal(percent(0.00999), "0.999 %");
  assert.equal(percent(0.009999), "1.00 %");
  assert.equal(times(12568.9), "12,569×");
  assert.equal(times(1.0834), "1.083×");
  assert.equal(times(undefined), "–");
  assert.equal(tidy(percent(0.05)), "5 %");
  assert.equal(tidy("1.250×"), "1.25×");
  assert.equal(tidy("1,200 s"), "1,200 s");
  assert.equal(compact(816000), "816 k");
});

test("durations of a column have the same unit", () => {
  const shown = durationsUpTo(12_340_000);
  assert.deepEqual([12_340_000, 899_400, 23_250, 0, 999, null].map(shown), ["12.34 ms", "0.899 ms", "0.023 ms", "0 ms", "999 ns", "–"]);
  assert.equal(durationChange(-899_400, shown), "−0.899 ms");
  assert.equal(durationsUpTo(0)(0), "0 ns");
});

test("differences have a sign unless they are rounded to 0", () => {
  assert.equal(durationChange(1_140_000), "+1.140 ms");
  assert.equal(durationChange(-791), "−791 ns");
  assert.equal(durationChange(-1.2e-10), "0 ns");
  assert.equal(durationChange(null), "–");
  assert.equal(percentChange(0.0521), "+5.21 %");
  assert.equal(percentChange(-0.00004), "0 %");
  assert.equal(percentChange(-0.9947), "−99.47 %");
  assert.equal(percentChange(12.8888), "+1,289 %");
  assert.equal(percentChange(undefined), "–");
});

test("ticks at equal distances are round, within the range, and include 0", () => {
  assert.deepEqual(evenTicks(-0.7, 1.9, 4), [0, 1]);
  assert.deepEqual(evenTicks(-0.3, 0.3, 4), [-0.2, 0, 0.2]);
  assert.deepEqual(evenTicks(5, 5, 4), []);
});

test("invisible characters in a name are shown as code points", () => {
  assert.equal(visible("a\u202Eb"), "a⟨U+202E⟩b");
  assert.equal(visible("a\nb\u0000"), "a⟨U+000A⟩b⟨U+0000⟩");
  assert.equal(visible("\uD800x"), "⟨U+D800⟩x");
  assert.equal(visible("\u{1F680}<b>"), "\u{1F680}<b>");
  assert.equal(visible("\u{1F469}\u200D\u{1F4BB}"), "\u{1F469}\u200D\u{1F4BB}");
  assert.equal(visible("\u2764\uFE0F\u200D\u{1F525}"), "\u2764\uFE0F\u200D\u{1F525}");
  assert.equal(visible("a\u200Db\uFE0F"), "a⟨U+200D⟩b⟨U+FE0F⟩");
  assert.equal(visible("a\u2028\u2029\u3164b"), "a⟨U+2028⟩⟨U+2029⟩⟨U+3164⟩b");
  assert.equal(visible("\u{E0041}x"), "⟨U+E0041⟩x");
  assert.equal(visible("\u00A0\u4E2D\u05D0"), "\u00A0\u4E2D\u05D0");
});

test("a shell word is one word for any content", () => {
  assert.equal(shellWord("stemtap-decode/plan.json"), "stemtap-decode/plan.json");
  assert.equal(shellWord("a b"), "'a b'");
  assert.equal(shellWord("it's $(x)"), "'it'\\''s $(x)'");
  assert.equal(shellWord("--option"), "--option"); // an option of the recorded command stays an option
  assert.equal(shellPath("-rf"), "./-rf");
  assert.equal(shellPath("a b"), "'a b'");
  assert.equal(shellWord(""), "''");
  assert.equal(shellWord("=a"), "'=a'"); // zsh replaces it by the path of the program a
  // Pasted control characters would act on the terminal, and a line end would run the rest as a command.
  assert.equal(shellWord("a\u0003touch x\n'\\\u202e!"), "$'a\\003touch x\\012\\'\\\\\\342\\200\\256\\041'");
  assert.equal(shellPath("-\u001b"), "$'./-\\033'");
});

test("a log axis has few ticks, all within the axis", () => {
  for (const [low, high] of [[1, 1.05], [90, 140], [3, 900], [0.5, 5e9]] as const) {
    const ticks = ticksBetween(low, high);
    assert.ok(ticks.length >= 2 && ticks.length <= 14, `${low} to ${high}: ${ticks}`);
    assert.ok(ticks.every((t) => t >= low && t <= high));
  }
  assert.deepEqual(ticksBetween(0, 10), []);
});
