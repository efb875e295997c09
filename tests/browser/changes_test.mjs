// SPDX-License-Identifier: Apache-2.0
// The comparison with a baseline has the figures of `stemtap diff`, and is absent without a baseline.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { before, describe } from "node:test";
import { hostileNames } from "../../report/test/fixture.mjs";
import { accessibilityViolations, chartSeries, makeReport, offenses, openBrowser, openReport, run, scratch, tabStops,
  unreached } from "./support.mjs";

const slow = /layer_norm_rows_kernel/;
const header = "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,shared_bytes,graph_id,name\n";

// Changes the rows of a generated profile. Names contain commas, so a name is all text after the 13th comma.
function rewrite(from, to, change) {
  const [head, ...rows] = readFileSync(join(scratch, from), "utf8").trimEnd().split("\n");
  writeFileSync(join(scratch, to), `${head}\n${rows.flatMap((row) => {
    const cells = row.split(",", 13);
    const made = change(cells, row.slice(cells.join(",").length + 1));
    return made === null ? [] : [made.join(",")];
  }).join("\n")}\n`);
}

function replay(name) {
  // Kernels of several shapes have a verdict only if the shapes are separate.
  run("replay", join(scratch, `${name}.csv`), "-q", "--group-by", "launch", "-o", join(scratch, name));
  return join(scratch, name);
}

let context;
let sessions;
before(async () => {
  context = await openBrowser();
  const generate = (name, seed) => run("generate", "llm-decode", "--launches", "60000", "--noise-seed", seed, "-o", join(scratch, name));
  generate("before.csv", "1");
  generate("second.csv", "2");
  // One kernel is 5 % slower, one has another name, and one is 10 % faster.
  rewrite("second.csv", "after.csv", (cells, name) => {
    const factor = slow.test(name) ? 1.05 : /SkinnyKernel/.test(name) ? 0.9 : 1;
    cells[2] = Math.round(Number(cells[2]) * factor);
    return [...cells, name.replace("CombineSplits", "MergeSplits")];
  });
  sessions = { before: replay("before"), after: replay("after") };
});

const changesTable = (page) => page.getByRole("table", { name: "Changes" });
const rowsOf = (page) => changesTable(page).locator("tbody tr:not([aria-hidden])");
const column = (page, name) => changesTable(page).getByRole("columnheader", { name, exact: true });

// Returns the texts of a column.
async function cells(page, name) {
  const at = await column(page, name).evaluate((cell) => cell.cellIndex);
  return rowsOf(page).locator(`> :nth-child(${at + 1})`).allInnerTexts();
}

describe("a report with a baseline", () => {
  let page;
  let diff;
  before(async () => {
    diff = JSON.parse(run("diff", sessions.before, sessions.after, "--json"));
    page = await openReport(context, makeReport(sessions.after, "--baseline", sessions.before));
    await changesTable(page).scrollIntoViewIfNeeded();
    await page.locator('table[aria-label="Changes"][aria-rowcount]').waitFor();
  });

  test("contains what stemtap diff prints", async () => {
    assert.deepEqual(await page.evaluate(() => window.stemtapReport.data.diff), diff);
    assert.deepEqual(["slower", "faster", "new", "gone"].map((verdict) => diff.verdicts[verdict]), [1, 1, 1, 1]);
  });

  test("summarizes the changes in one sentence", async () => {
    const text = await page.locator("#changes").innerText();
    const { slower, faster, unclear, same } = diff.verdicts;
    assert.match(text, new RegExp(`${slower} slower, ${faster} faster, 1 new, 1 gone, ${unclear} unclear, ${same} same\\. B − A: `));
    const ms = (diff.b.duration_ns - diff.a.duration_ns) / 1e6;
    assert.match(text, new RegExp(`B − A: −${Math.abs(ms).toPrecision(4)} ms \\(−`));
    assert.ok(ms < 0, `${ms}`);
    assert.match(text, /Threshold for a change of a mean: 1 %\. Confidence for the whole table: 95 %\./);
    assert.match(text, /A, the baseline: .*before \(60,000 launches.* B, this run: after \(60,000 launches/);
    assert.ok(text.includes(`Total GPU time: ${diff.total.verdict}`), text);
    assert.equal(diff.policy, null);
    assert.equal(await page.locator("#changes-policy").count(), 0);
    for (const note of diff.notes) assert.ok(text.includes(note), note);
  });

  test("opens with what changed, before what the GPU did in this run", async () => {
    const ids = await page.locator("section").evaluateAll((all) => all.map((section) => section.id));
    assert.deepEqual(ids.slice(0, 4), ["changes", "where", "activity", "samples"]);
    assert.equal(await page.locator("h1").innerText(), "What changed from before to after");
    assert.match((await page.locator(".figures li").allInnerTexts()).join(" "), /^This run \(B\): .*GPU time/);
    assert.equal((await page.locator("nav a").first().innerText()), "Changes");
    const facts = await page.locator("#changes > p").allInnerTexts();
    assert.ok(facts[0].startsWith(`Total GPU time: ${diff.total.verdict}`), facts[0]);
    assert.match(facts[1], /^Changed most: .* (slower|faster|new|gone)/);
    assert.equal(await page.locator("#h-samples").innerText(), "The samples of this run (B)");
  });

  test("shows the figures of stemtap diff in a table, in the same order", async () => {
    assert.equal(await changesTable(page).getAttribute("aria-rowcount"), String(diff.kernels.length + 1));
    assert.deepEqual(await cells(page, "Verdict"), diff.kernels.map((k) => (k.reason === null ? k.verdict + (k.basis === "most launches" ? ": most launches" : "") : `${k.verdict}: ${k.reason}`)));
    const number = (text) => Number(text.replace("−", "-").replace(/[, %]/g, ""));
    const shown = (await cells(page, "Change")).map((text) => (text === "–" ? null : number(text) / 100));
    shown.forEach((change, i) => assert.ok(diff.kernels[i].change === null ? change === null
      : Math.abs(change - diff.kernels[i].change) <= 5.1e-5, `${change} for ${diff.kernels[i].change}`));
    const intervals = await cells(page, "Interval");
    diff.kernels.forEach((k, i) => k.lower !== null && intervals[i].split(" to ").forEach((text, end) =>
      assert.ok(Math.abs(number(text) / 100 - [k.lower, k.upper][end]) <= 5.1e-5, `${text} for ${k.lower} to ${k.upper}`)));
    const units = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
    const ns = (text) => number(text.split(" ")[0]) * units[text.split(" ")[1]];
    // Four digits, up to three of them after the decimal point.
    const isNear = (text, value) => Math.abs(ns(text) - value) <= 6e-4 * Math.max(1000, Math.abs(value), units[text.split(" ")[1]]);
    for (const [name, of] of [["B − A", (k) => k.duration_b_ns - k.duration_a_ns], ["By launches", (k) => k.by_launches_ns],
      ["By duration", (k) => k.by_duration_ns], ["Mean A", (k) => k.equal_mean_a_ns ?? k.mean_a_ns], ["Mean B", (k) => k.equal_mean_b_ns ?? k.mean_b_ns]]) {
      (await cells(page, name)).forEach((text, i) => assert.ok(of(diff.kernels[i]) === null ? text === "–" : isNear(text, of(diff.kernels[i])),
        `${name}: ${text} for ${of(diff.kernels[i])}`));
    }
    assert.deepEqual((await cells(page, "Launches B")).map(number), diff.kernels.map((k) => k.launches_b));
  });

  test("draws the differences and the intervals", async () => {
    const chart = page.locator("#figure-changes .chart");
    await chart.scrollIntoViewIfNeeded();
    await chart.locator("svg path").first().waitFor({ state: "attached" });
    const series = (await chartSeries(page)).changes;
    assert.deepEqual(series.find((s) => s.name === "difference").data.map((d) => d.value[0]),
      diff.kernels.map((k) => k.duration_b_ns - k.duration_a_ns));
    assert.deepEqual(series.find((s) => s.name === "interval").data.map((d) => d.value[0]),
      diff.kernels.map((k) => (k.change === null ? null : 1 + k.change)));
    const words = await chart.locator("svg text").allTextContents();
    for (const word of [/^slower \+5\.\d\d %$/, /^faster −(9\.\d\d|10\.\d\d) %$/, /^new$/, /^gone$/, /layer_norm_rows/]) {
      assert.ok(words.some((text) => word.test(text)), `${word} is not in ${words.join(" | ")}`);
    }
  });

  test("has a tooltip with the figures of the kernel", async () => {
    const chart = page.locator("#figure-changes .chart");
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 22 + 12); // the first row
    const tip = await page.locator("#figure-changes .tip").innerText();
    assert.match(tip, slow);
    assert.match(tip, /verdict\s+slower/);
    assert.match(tip, /change of the mean\s+\+5\.\d\d %/);
    await page.mouse.move(0, 0);
  });

  test("sorts by a column, in either order", async () => {
    await column(page, "B − A").getByRole("button").click();
    assert.equal(await column(page, "B − A").getAttribute("aria-sort"), "descending");
    const launches = async () => (await cells(page, "Launches B")).map((text) => Number(text.replaceAll(",", "")));
    const by = (sign) => [...diff.kernels].sort((x, y) => sign * ((x.duration_b_ns - x.duration_a_ns) - (y.duration_b_ns - y.duration_a_ns)))
      .map((k) => k.launches_b);
    assert.deepEqual(await launches(), by(-1));
    await column(page, "B − A").getByRole("button").click();
    assert.deepEqual(await launches(), by(1));
    // Kernels without a change are last.
    await column(page, "Change").getByRole("button").click();
    assert.deepEqual((await cells(page, "Change")).slice(-2), ["–", "–"]);
    await column(page, "Verdict").getByRole("button").click();
    assert.deepEqual((await cells(page, "Verdict")).slice(0, 2), ["slower", "faster"]);
  });

  test("selects the kernel of a row by mouse and keyboard, unless the kernel is gone", async () => {
    const chosen = () => page.locator(".kernel-name").getAttribute("title");
    await rowsOf(page).first().getByRole("button").click();
    assert.match(await chosen(), slow);
    const grid = page.locator("#changes .grid");
    await grid.focus();
    for (const key of ["Home", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    assert.match(await chosen(), /SkinnyKernel/);
    assert.equal(await grid.locator("tr.chosen").getAttribute("aria-rowindex"), "3");
    const gone = rowsOf(page).nth(3).getByRole("button");
    assert.match(await gone.evaluate((button) => button.closest("[title]").title), /CombineSplits.*\(not in this run\)/);
    assert.equal(await gone.getAttribute("aria-disabled"), "true");
    await gone.click({ force: true });
    assert.equal(await grid.locator("tr.chosen").getAttribute("aria-rowindex"), "3");
    // A kernel that is selected elsewhere is marked here.
    await page.getByRole("searchbox", { name: "Search kernels" }).fill("rotary");
    await page.getByRole("table", { name: "Kernels" }).locator("tbody button").first().click();
    assert.match(await grid.locator("tr.chosen").innerText(), /rotary/);
    await page.getByRole("searchbox", { name: "Search kernels" }).fill("");
  });

  test("selects the kernel of a clicked mark", async () => {
    await page.emulateMedia({ colorScheme: "light" });
    const mark = page.locator('#figure-changes svg path[fill="#b3261e"]').first(); // only the slower kernel has this color
    await mark.scrollIntoViewIfNeeded();
    const box = await mark.boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    assert.match(await page.locator(".kernel-name").getAttribute("title"), slow);
  });

  test("finds kernels by name and saves them as CSV", async () => {
    const box = page.getByRole("searchbox", { name: "Search changes" });
    await box.fill("layer_norm");
    assert.equal(await page.locator("#changes output").first().innerText(), `1 of ${diff.kernels.length} kernels`);
    await box.fill("");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "changes.csv" }).click();
    const saved = readFileSync(await (await download).path(), "utf8").trim().split("\r\n");
    const printed = run("diff", sessions.before, sessions.after, "--csv").trim().split("\n");
    assert.equal(saved[0], printed[0]);
    // The cells after the name and the verdict are equal, except for the format of numbers.
    const values = (line) => line.split(",").slice(-17).map((cell) => (cell === "" || isNaN(cell) ? cell : Number(cell)));
    assert.deepEqual(saved.slice(1).map(values), printed.slice(1).map(values));
  });

  test("can be used with a keyboard", async () => {
    await tabStops(page);
    assert.deepEqual(await unreached(page), []);
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`has no WCAG 2 AA violations, ${colorScheme}`, async () => {
      await page.emulateMedia({ colorScheme });
      await page.locator("#changes details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
      assert.deepEqual(await accessibilityViolations(page), []);
    });
  }

  for (const width of [1440, 800, 360]) {
    test(`fits ${width} px`, async () => {
      await page.setViewportSize({ width, height: 900 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(over <= 0, `${over} pixels too wide`);
      const folder = await page.locator(".folder").evaluate((name) => name.clientWidth);
      assert.ok(folder >= 100, `${folder} px for the name of the directory`);
      const cut = await page.locator("#figure-changes svg").evaluate((svg) => {
        const { left, right } = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()])
          .filter(([, box]) => box.left < left - 1 || box.right > right + 1).map(([text]) => text);
      });
      assert.deepEqual(cut, []);
    });
  }

  test("logs no errors and makes no requests", () => assert.deepEqual(offenses(page), []));
});

test("a report without a baseline has no section of changes", async () => {
  const page = await openReport(context, makeReport(sessions.after));
  assert.equal(await page.locator("#changes").count(), 0);
  assert.equal(await page.getByRole("link", { name: "Changes" }).count(), 0);
  assert.equal(await page.evaluate(() => window.stemtapReport.data.diff), null);
});

describe("a page that compares two profiles", () => {
  let page;
  let diff;
  const b = join(scratch, "often.csv");
  before(async () => {
    // One kernel: every tenth launch in A and every third launch in B is twice as large and takes twice as long.
    const enlarge = (to, every) => {
      let launches = 0;
      rewrite("before.csv", to, (cells, name) => {
        if (slow.test(name) && launches++ % every === 0) for (const at of [2, 5]) cells[at] *= 2;
        return [...cells, name];
      });
    };
    enlarge("seldom.csv", 10);
    enlarge("often.csv", 3);
    const runs = [join(scratch, "seldom.csv"), b];
    const file = join(scratch, "profiles.html");
    diff = JSON.parse(run("diff", ...runs, "--json", "--threshold", "0.02", "--html", file));
    page = await openReport(context, file);
    await changesTable(page).scrollIntoViewIfNeeded();
    await page.locator('table[aria-label="Changes"][aria-rowcount]').waitFor();
  });

  test("separates the time that other shapes cause", async () => {
    assert.deepEqual(await page.evaluate(() => window.stemtapReport.data.diff), diff);
    assert.ok(diff.by_shapes_ns > 1e6, `${diff.by_shapes_ns}`);
    const text = await page.locator("#changes").innerText();
    assert.match(text, new RegExp(`\\+${(diff.by_shapes_ns / 1e6).toPrecision(4)} ms from shapes`));
    assert.match(text, /Threshold for a change of a mean: 2 %\./);
    assert.match(text, /A, the baseline: .*seldom\.csv \(60,000 launches.* B, this run: often\.csv \(60,000 launches/);
    const at = diff.kernels.findIndex((k) => slow.test(k.name));
    assert.match((await cells(page, "By shapes"))[at], new RegExp(`^\\+${(diff.kernels[at].by_shapes_ns / 1e6).toPrecision(4)} ms$`));
    assert.match(await page.locator("#changes .panel p").last().textContent(), /"By shapes" from launches with other grids or blocks/);
    assert.match(await page.locator("#changes .how").first().textContent(), /the rest comes from their number and their shapes/);
  });

  test("contains the plan of B and saves it", async () => {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "plan.json" }).click();
    assert.equal(readFileSync(await (await download).path(), "utf8"), run("plan", b, "--json"));
    assert.equal(await page.locator("h1").innerText(), "What changed from seldom.csv to often.csv");
    assert.equal(await page.locator(".folder").innerText(), "often.csv");
    const next = await page.locator(".next").innerText();
    assert.match(next, new RegExp(`stemtap plan ${b} -o plan\\.json`));
    assert.match(next, /stemtap export --plan plan\.json --to /);
  });

  test("has no WCAG 2 AA violations, fits 360 px, and makes no requests", async () => {
    await page.locator("#changes details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
    assert.deepEqual(await accessibilityViolations(page), []);
    await page.setViewportSize({ width: 360, height: 900 });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${over} pixels too wide`);
    assert.deepEqual(offenses(page), []);
  });
});

test("the notes of a comparison are shown", async () => {
  const plan = join(scratch, "plan.json");
  writeFileSync(plan, readFileSync(join(sessions.before, "plan.json")));
  const page = await openReport(context, makeReport(sessions.after, "--baseline", plan));
  const text = await page.locator("#changes").innerText();
  assert.match(text, /Note: \d+ kernels are unclear \(no order\): a run has no order of launches/);
  await changesTable(page).scrollIntoViewIfNeeded();
  const verdicts = await cells(page, "Verdict");
  const intervals = await cells(page, "Interval");
  assert.ok(verdicts.some((verdict, i) => verdict === "unclear: no order" && intervals[i].endsWith(" %")));
});

test("names in the baseline stay text", async () => {
  const names = hostileNames.filter((name) => name !== "").map((name) => Buffer.from(name, "utf8").toString("utf8").replaceAll("\0", ""));
  const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
  writeFileSync(join(scratch, "hostile.csv"), header + names.flatMap((name, k) => Array.from({ length: 9 }, (_, i) =>
    `${9 * k + i},${(9 * k + i) * 5000},${1000 + i},0,7,1,1,1,64,1,1,,,${quoted(name)}\n`)).join(""));
  const page = await openReport(context, makeReport(sessions.after, "--baseline", join(scratch, "hostile.csv")));
  await changesTable(page).scrollIntoViewIfNeeded();
  await page.evaluate(() => window.stemtapReport.charts.changes.draw());
  const found = await page.evaluate(() => ({ pwned: window.pwned ?? null, keys: Object.keys(Object.prototype),
    foreign: document.querySelectorAll("#page img, #page b, #page i, [onerror], #page script").length }));
  assert.deepEqual(found, { pwned: null, keys: [], foreign: 0 });
  assert.equal(await page.evaluate(() => window.stemtapReport.data.diff.verdicts.gone), names.length);
  assert.deepEqual(await accessibilityViolations(page), []);
  assert.deepEqual(offenses(page), []);
});

test("a report with a baseline of 100,000 kernels opens quickly", async (t) => {
  const kernels = 100_000;
  writeFileSync(join(scratch, "many.csv"), header + Array.from({ length: kernels }, (_, k) =>
    `${k},${k * 5000},${1000 + k % 777},0,7,1,1,1,64,1,1,,,"void space::gemm::Kernel<float, Tile<${k % 7}, ${k % 11}>, ${k}>(float const*)"\n`).join(""));
  const page = await openReport(context, makeReport(sessions.after, "--baseline", join(scratch, "many.csv")));
  t.diagnostic(`opened in ${page.openedMs} ms`);
  assert.ok(page.openedMs < 15_000, `${page.openedMs} ms`);
  const table = changesTable(page);
  await table.scrollIntoViewIfNeeded();
  await page.locator('table[aria-label="Changes"][aria-rowcount]').waitFor();
  assert.ok(Number(await table.getAttribute("aria-rowcount")) > kernels);
  assert.ok(await page.locator("#changes tr").count() <= 200);
  await page.getByRole("searchbox", { name: "Search changes" }).fill("99999");
  assert.equal(await table.getAttribute("aria-rowcount"), "2");
  assert.deepEqual(offenses(page), []);
});
