// SPDX-License-Identifier: Apache-2.0
// Tests the report in a browser: every figure and every control work, and the page makes no requests.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test, { before, describe } from "node:test";
import { fileURLToPath } from "node:url";
import { kinds } from "../../report/test/fixture.mjs";
import { accessibilityViolations, chartSeries, kernelTable, listen, makeReport, numbersIn, offenses, openBrowser, openReport, readJson, run,
  scratch, stemtap, tabStops, unreached, writeSession } from "./support.mjs";

let context;
before(async () => (context = await openBrowser()));

const near = (one, other) => Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one), Math.abs(other));
const has = (numbers, value) => numbers.some((number) => near(number, value));
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const themeButton = (page) => page.getByRole("button", { name: /theme/i });
const searchBox = (page) => page.getByRole("searchbox", { name: "Search kernels" });
const rowCount = async (page) => Number(await (await kernelTable(page)).getAttribute("aria-rowcount")) - 1;
const rowsOf = async (page) => (await kernelTable(page)).locator("tbody tr:not([aria-hidden])");
const paper = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor +
  getComputedStyle(document.body).backgroundColor);

describe("a session with all its files", () => {
  const data = kinds.small();
  let page;
  let session;
  before(async () => {
    session = writeSession("small", data);
    page = await openReport(context, makeReport(session, "--evaluation", join(scratch, "small-evaluation.json")));
  });

  test("is passed to the page unchanged", async () => {
    const given = await page.evaluate(() => window.stemtapReport.data);
    for (const part of ["plan", "session", "overview", "evaluation", "ranks"]) assert.deepEqual(given[part], data[part], part);
    assert.equal(given.folder, "small");
    assert.equal(given.mask.events.length, data.mask.events.length);
    assert.deepEqual(given.mask.events.map(([kind, index, kernel]) => [kind, index, kernel]),
      data.mask.events.map(([kind, index, kernel]) => [kind, index, kernel]));
  });

  test("is drawn without requests or errors", () => assert.deepEqual(offenses(page), []));

  test("shows the time of each kernel", async () => {
    const charts = await chartSeries(page);
    const byTime = data.plan.kernels.map((k) => k.duration_ns).sort((a, b) => b - a);
    assert.deepEqual(charts.bars[0].data.map((part) => part.value), byTime);
  });

  test("shows the durations of a kernel with its samples", async () => {
    const chart = (await chartSeries(page)).histogram;
    const longest = data.overview.kernels[0];
    const planned = data.plan.kernels.find((k) => k.name === longest.name);
    const bins = chart.find((s) => s.name === "launches").data.map(([from, to, count]) => [from, to, count]);
    assert.deepEqual(bins, longest.histogram);
    const shown = chart.find((s) => s.name === "samples").data.map((point) => point.value[0]).sort((a, b) => a - b);
    assert.deepEqual(shown, planned.clusters.flatMap((c) => c.samples.map((s) => s.duration_ns)).sort((a, b) => a - b));
  });

  test("shows the progress of the session", async () => {
    const chart = (await chartSeries(page)).timeline;
    const of = (name) => chart.find((s) => s.name === name).data;
    const { timeline } = data.overview;
    assert.deepEqual(of("bound").map((point) => point[1]),
      [...timeline.slice(0, -1).map((point) => point[6]), data.plan.totals.bound]);
    assert.deepEqual(of("captures").map((point) => point[1]), timeline.map((point) => point[3]));
    assert.equal(sum(of("decisions").map((point) => (point.value ?? point)[2])), data.mask.events.length);
  });

  test("shows launches and busy time over the run", async () => {
    const chart = (await chartSeries(page)).activity;
    const { activity } = data.overview;
    const of = (name) => chart.find((s) => s.name === name).data;
    const rates = new Array(activity.count).fill(0);
    const busy = [...rates];
    for (const [slice, launches, , ns] of activity.slices) {
      rates[slice] = launches / (activity.width_ns / 1e9);
      busy[slice] = ns / activity.width_ns;
    }
    // The last value applies until the end of its slice. The run ends within the last slice.
    const shown = (line) => line.map((point) => point[1]);
    assert.equal(of("busy").length, activity.count + 1);
    shown(of("launches per second")).slice(0, -2).forEach((value, i) => assert.ok(near(value, rates[i]), `${i}`));
    shown(of("busy")).slice(0, -2).forEach((value, i) => assert.ok(near(value, busy[i]), `${i}`));
    const marked = await page.evaluate(() => window.stemtapReport.charts.activity.option.series[0].markArea.data
      .map(([from, to]) => [from.xAxis, to.xAxis]));
    assert.deepEqual(marked, [[40 * activity.width_ns, 44 * activity.width_ns]]);
    const text = await page.locator("#activity").innerText();
    const [device] = data.session.devices;
    assert.match(await page.locator("#where").innerText(), new RegExp(`busy ${(100 * device.busy_ns / device.span_ns).toPrecision(3)} % of the time`));
    assert.match(text, /1 us to 10 us\s+90,000\s+270\.0 ms/);
    assert.match(text, /100 ms to 1 s\s+1\s+384\.7 ms/);
    // The longest gap, between two kernels. The kernel before the other gap is not known.
    assert.match(text, /Kernel before\s+Kernel after\s+3\.8468[78] s\s+384\.7 ms\s+PipelinedKernel<.*\s+SplitKernel</);
    assert.match(text, /1\.00000 s\s+9\.100 us\s+–\s+SkinnyKernel</);
    const titles = await page.locator("#activity .panel", { hasText: "Longest gaps" }).locator("bdi").evaluateAll((all) => all.map((name) => name.title));
    assert.deepEqual(titles, data.plan.kernels.slice(0, 3).map((kernel) => kernel.name));
  });

  test("shows the run as a strip with its samples", async () => {
    const chart = (await chartSeries(page)).strip;
    const { activity } = data.overview;
    assert.equal(chart.find((s) => s.name === "busy").data.length, activity.count); // also the idle slices
    const ticks = chart.find((s) => s.name === "samples").data;
    assert.ok(ticks.length > 50 && ticks.length <= data.plan.totals.samples, `${ticks.length}`);
    const figure = page.locator("#figure-strip");
    await figure.locator("summary", { hasText: "Show as a table" }).click();
    await figure.locator(".plain tbody tr").first().waitFor(); // drawn when it opens
    const cells = (column) => figure.locator(`.plain tbody td:nth-child(${column})`).allInnerTexts();
    assert.equal((await cells(1)).length, activity.count);
    assert.equal(sum((await cells(4)).map(Number)), data.plan.totals.samples);
    assert.deepEqual((await cells(2)).flatMap((text, i) => (text === "0 %" ? [i] : [])), [40, 41, 42, 43]);
    await figure.locator("summary", { hasText: "Show as a table" }).click();
    const box = await figure.locator(".chart").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    const tip = await figure.locator(".tip").innerText();
    assert.match(tip, /^5\.\d+ s to [56]\.\d+ s\s+busy\s+9\d\.\d %\s+launches\s+3,\d{3}\s+samples\s+\d/);
    assert.match(tip, /35\.\d %\s+SplitKernel</);
    await page.mouse.move(0, 0);
  });

  test("shows the time by category, in the colors of the bars", async () => {
    // The program guesses the categories itself, so only the sums are known.
    const cells = (column) => page.locator(`#categories .plain tbody td:nth-child(${column})`).allInnerTexts();
    const names = await cells(1);
    assert.ok(names.length >= 4 && names.includes("gemm") && names.includes("attention"), `${names}`);
    assert.ok(Math.abs(sum((await cells(2)).map((text) => Number(text.replace(" %", "")))) - 100) < 0.3);
    assert.equal(sum((await cells(4)).map(Number)), data.plan.kernels.length);
    assert.equal(sum((await cells(5)).map((text) => Number(text.replaceAll(",", "")))), sum(data.plan.kernels.map((k) => k.invocations)));
    await page.emulateMedia({ colorScheme: "light" });
    const keys = await page.locator("#categories .key").evaluateAll((all) => all.map((key) => getComputedStyle(key).backgroundColor));
    const bars = await page.evaluate(() => window.stemtapReport.charts.bars.option.series[0].data.map((bar) => bar.itemStyle.color));
    const hex = (rgb) => "#" + rgb.match(/\d+/g).map((n) => Number(n).toString(16).padStart(2, "0")).join("");
    assert.deepEqual(new Set(keys.map(hex)), new Set(bars));
    await page.locator("#categories button").first().click();
    assert.equal(await page.locator(".facts div", { hasText: "category" }).innerText(), `category\n${names[0]}`);
  });

  test("shows the recorded command, and the commands for counters and simulators", async () => {
    assert.equal(await page.locator("h1").innerText(), "Where the GPU time of python3 decode.py --tokens 64 goes");
    assert.equal(await page.title(), "Where the GPU time of python3 decode.py --tokens 64 goes – stemtap report");
    assert.equal(await page.locator(".ran").innerText(), "live · python3 decode.py --tokens 64");
    assert.equal(await page.locator(".folder").innerText(), "small");
    const plan = join(session, "plan.json");
    const next = page.locator(".next");
    const counters = await next.getByRole("region", { name: "Counter commands" }).innerText();
    assert.deepEqual(counters.trim().split("\n"), [`stemtap export --plan ${plan} --to ncu -o small.ncu.sh`,
      "NCU_OPTIONS='--metrics smsp__inst_executed.sum,dram__bytes.sum' REPORT=counters sh small.ncu.sh python3 decode.py --tokens 64",
      `stemtap extrapolate --plan ${plan} --results counters.*.csv`]);
    await next.getByLabel("Consumer").selectOption("macsim");
    assert.equal((await next.getByRole("region", { name: "Export command" }).innerText()).trim(),
      `stemtap export --plan ${plan} --to macsim -o small.macsim.txt`);
    assert.equal((await page.getByRole("region", { name: "Command that separates shapes" }).innerText()).trim(),
      "stemtap run --group-by launch -- python3 decode.py --tokens 64");
  });

  test("begins with the figures that readers need first", async () => {
    const { totals } = data.plan;
    const figures = await page.locator(".figures li").allInnerTexts();
    assert.match(figures.join(", "), /^[\d.]+ s GPU time, [\d,]+ launches, 80\.0 % busy, 4\.98 % error bound, [\d,]+× less to trace$/);
    assert.ok(figures[1].startsWith(totals.invocations.toLocaleString("en-US")));
    const bottom = await page.locator(".figures").evaluate((list) => list.getBoundingClientRect().bottom + scrollY);
    assert.ok(bottom < 200, `${bottom} px`);
    assert.doesNotMatch(await page.locator("main").innerText(), /speedup/i);
  });

  test("shows what the GPU did, then the samples, then the details", async () => {
    const ids = await page.locator("section").evaluateAll((all) => all.map((section) => section.id));
    assert.deepEqual(ids, ["where", "activity", "ranks", "samples", "kernel", "timeline", "drift", "tables", "methods", "session"]);
    assert.equal(await page.locator("#missing").count(), 0);
  });

  for (const width of [1440, 1024]) {
    test(`shows every column of the clusters at ${width} px`, async () => {
      await page.setViewportSize({ width, height: 900 });
      const most = data.plan.kernels.reduce((a, k) => (k.clusters.length > a.clusters.length ? k : a));
      await searchBox(page).fill(most.name);
      await (await rowsOf(page)).first().getByRole("button").click();
      const table = page.getByRole("group", { name: /^Table: #, Range/ });
      const [inner, outer] = await table.evaluate((box) => [box.scrollWidth, box.clientWidth]);
      assert.ok(inner <= outer, `${inner} px in ${outer} px`);
      assert.ok(await table.getByRole("columnheader", { name: "State" }).isVisible());
      await searchBox(page).fill("");
      await page.setViewportSize({ width: 1280, height: 900 });
    });
  }

  test("shows the drift of kernels", async () => {
    const chart = (await chartSeries(page)).drift;
    const longest = data.overview.kernels[0];
    const means = longest.slices.map(([, count, duration]) => duration / count);
    const sorted = [...means].sort((a, b) => a - b);
    const median = (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
    const wanted = means.map((mean) => mean / median);
    const shown = chart.map((s) => s.data.map((point) => point[1]));
    assert.ok(shown.some((line) => line.length === wanted.length && line.every((value, i) => Math.abs(value - wanted[i]) < 1e-6)));
  });

  test("shows the methods of an evaluation", async () => {
    const numbers = numbersIn((await chartSeries(page)).methods);
    for (const { method, speedup_harmonic, error_mean } of data.evaluation.summary) {
      assert.ok(has(numbers, speedup_harmonic) && has(numbers, error_mean), method);
    }
  });

  test("shows the ranks of a job, and names the slow one", async () => {
    const ranks = page.locator("#ranks");
    await ranks.scrollIntoViewIfNeeded();
    assert.match(await ranks.innerText(), /Rank 3 on node-0 is 8\.20 % slower/);
    const rows = ranks.locator("tbody tr[aria-rowindex]");
    assert.equal(await rows.count(), data.ranks.ranks.length);
    await ranks.getByRole("button", { name: "Slower" }).click();
    assert.match(await rows.first().innerText(), /^3\s+node-0\s[\s\S]*8\.20 %/);
  });

  test("draws every chart once it is scrolled to", async () => {
    for (const name of ["strip", "bars", "histogram", "activity", "timeline", "drift", "methods"]) {
      const chart = page.locator(`#figure-${name} .chart`);
      await chart.scrollIntoViewIfNeeded();
      await chart.locator("svg path").first().waitFor({ state: "attached" });
      const drawn = await chart.evaluate((box) => ({ paths: box.querySelectorAll("svg path").length,
        words: [...box.querySelectorAll("svg text")].length, size: box.querySelector("svg").getBoundingClientRect().toJSON() }));
      assert.ok(drawn.paths >= 5 && drawn.words >= 2 && drawn.size.width > 200 && drawn.size.height > 100,
        `${name}: ${JSON.stringify(drawn)}`);
    }
  });

  test("states the totals in text", async () => {
    const text = await page.locator("body").innerText();
    const { totals } = data.plan;
    const digits = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "[\\s,.\u2009\u202F\u00A0\u2019]?");
    assert.match(text, new RegExp(digits(totals.samples)));
    assert.match(text, new RegExp(digits(totals.invocations)));
    assert.match(text, /4\.98/);
  });

  for (const name of ["timeline", "drift", "activity", "strip"]) {
    test(`zooms the ${name} by buttons and by mouse`, async () => {
      const figure = page.locator(`#figure-${name}`);
      const chart = figure.locator(".chart");
      const range = () => page.evaluate((which) => {
        const { min, max } = [window.stemtapReport.charts[which].option.xAxis].flat()[0];
        return [min, max];
      }, name);
      const press = (what) => figure.getByRole("button", { name: what, exact: true }).click();
      await chart.scrollIntoViewIfNeeded();
      const [, end] = await range();
      const shares = async () => (await range()).map((x) => Math.round((1000 * x) / end) / 1000);
      assert.deepEqual(await shares(), [0, 1]);
      await press("Zoom in");
      assert.deepEqual(await shares(), [0.25, 0.75]);
      const shownPart = () => figure.getByRole("group", { name: "Zoom" }).locator("output").innerText();
      assert.match(await shownPart(), / s to .* s$/);
      await press("Later");
      assert.deepEqual(await shares(), [0.5, 1]);
      await press("Earlier");
      assert.deepEqual(await shares(), [0.25, 0.75]);
      const box = await chart.boundingBox();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 3];
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x - box.width / 4, y, { steps: 4 });
      await page.mouse.up();
      const dragged = await shares();
      assert.ok(dragged[0] > 0.3 && Math.abs(dragged[1] - dragged[0] - 0.5) < 0.002, `${dragged}`);
      await press("Show all");
      assert.deepEqual(await shares(), [0, 1]);
      // The wheel alone scrolls the page.
      await page.mouse.wheel(0, -200);
      assert.deepEqual(await shares(), [0, 1]);
      await chart.scrollIntoViewIfNeeded();
      const at = await chart.boundingBox();
      await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -200);
      await page.keyboard.up("Control");
      const wheeled = await shares();
      assert.ok(wheeled[0] > 0.05 && wheeled[1] < 0.95, `${wheeled}`);
      // Only the selected part is drawn: no line leaves the plot.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      assert.ok(await chart.locator("svg path").count() > 4);
      await page.mouse.dblclick(at.x + at.width / 2, at.y + at.height / 2);
      assert.deepEqual(await shares(), [0, 1]);
      if (name !== "timeline") return;
      // A new axis resets the zoom.
      await press("Zoom in");
      await figure.getByLabel("by launch").click();
      assert.equal(await shownPart(), "");
      assert.equal((await range())[0], 0);
      await figure.getByLabel("by time").click();
    });
  }

  test("finds kernels by name", async () => {
    const all = data.plan.kernels.length;
    const matching = data.plan.kernels.filter((k) => /softmax/i.test(k.name)).length;
    assert.ok(matching > 0 && matching < all);
    assert.equal(await rowCount(page), all);
    await searchBox(page).fill("SOFTMAX");
    assert.equal(await rowCount(page), matching);
    const titles = await (await rowsOf(page)).locator(".pinned").evaluateAll((cells) => cells.map((cell) => cell.title));
    for (const title of titles) assert.match(title, /softmax/i); // the cell has the name without its namespace
    await searchBox(page).fill("no kernel is called that");
    assert.equal(await (await rowsOf(page)).count(), 0);
    await searchBox(page).fill("");
    assert.equal(await (await rowsOf(page)).count(), all);
  });

  test("sorts kernels by a column, in either order", async () => {
    const head = (await kernelTable(page)).getByRole("columnheader", { name: "Launches" });
    const column = await head.evaluate((cell) => cell.cellIndex);
    const values = async () => (await (await rowsOf(page)).locator(`> :nth-child(${column + 1})`).allInnerTexts())
      .map((text) => Number(text.replace(/[^0-9]/g, "")));
    const seen = [];
    for (let click = 0; click < 2; ++click) {
      await head.getByRole("button").click();
      const order = await head.getAttribute("aria-sort");
      const shown = await values();
      assert.deepEqual(shown, [...shown].sort((a, b) => (order === "ascending" ? a - b : b - a)), order);
      seen.push(order);
    }
    assert.deepEqual(seen.sort(), ["ascending", "descending"]);
    assert.deepEqual((await values()).sort((a, b) => a - b),
      data.plan.kernels.map((k) => k.invocations).sort((a, b) => a - b));
  });

  test("shows the kernel that is clicked", async () => {
    const name = (await rowsOf(page)).nth(3).getByRole("button");
    const title = await name.evaluate((button) => button.closest("[title]").title);
    await name.click();
    const chosen = data.overview.kernels.find((k) => k.name === title);
    assert.ok(chosen, title);
    const histogram = (await chartSeries(page)).histogram.find((s) => s.name === "launches");
    assert.deepEqual(histogram.data.map(([from, to, count]) => [from, to, count]), chosen.histogram);
  });

  test("selects the highlighted kernel of the list, unless the list is closed", async () => {
    const field = page.getByRole("combobox", { name: "Find a kernel" });
    const chosen = async () => (await page.locator(".kernel-name").getAttribute("title"));
    await field.fill("Kernel");
    const second = await page.locator("#kernel-options li").nth(1).getAttribute("title");
    for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
    assert.equal(await chosen(), second);
    await field.fill("gemm");
    for (const key of ["Escape", "Enter"]) await page.keyboard.press(key);
    assert.equal(await chosen(), second);
    await field.fill("");
    await page.keyboard.press("Escape");
  });

  test("saves plan.json as it was written", async () => {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "plan.json" }).click();
    const file = await (await download).path();
    assert.ok(readFileSync(file).equals(readFileSync(join(session, "plan.json"))));
  });

  for (const dark of [false, true]) {
    test(`has no WCAG 2 AA violations, ${dark ? "dark" : "light"}`, async () => {
      await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
      assert.deepEqual(await accessibilityViolations(page), []);
    });
  }

  test("has no WCAG 2.2 AA violations", async () =>
    assert.deepEqual(await accessibilityViolations(page, ["wcag22aa"]), []));

  test("has two themes and follows the system", async () => {
    await page.emulateMedia({ colorScheme: "light" });
    const light = await paper(page);
    for (let click = 0; click < 3 && (await paper(page)) === light; ++click) await themeButton(page).click();
    assert.notEqual(await paper(page), light);
    assert.deepEqual(await accessibilityViolations(page), []);
    for (let click = 0; click < 3 && (await paper(page)) !== light; ++click) await themeButton(page).click();
    assert.equal(await paper(page), light);
  });

  test("can be used with a keyboard", async () => {
    const { stops } = await tabStops(page);
    assert.ok(stops >= 30, `${stops} stops`);
    assert.deepEqual(await unreached(page), []);
    const before = await paper(page);
    await themeButton(page).focus();
    for (let press = 0; press < 3 && (await paper(page)) === before; ++press) await page.keyboard.press("Enter");
    assert.notEqual(await paper(page), before);
  });

  test("reacts to every press of Tab", async () => assert.equal((await tabStops(page)).lost, 0));

  test("fits a narrow window", async () => {
    await page.setViewportSize({ width: 360, height: 800 });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${over} pixels too wide`);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test("resizes charts for printing and back", async () => {
    const widths = () => page.$$eval(".chart", (boxes) => boxes.map((box) =>
      [box.querySelector("svg").getBoundingClientRect().width, box.clientWidth]));
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const printed = await widths();
    assert.equal(printed.length, 7);
    for (const [svg] of printed) assert.ok(svg <= 700, `${svg}`);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    const shown = await widths();
    for (const [svg, box] of shown) assert.equal(svg, box);
    assert.ok(shown.some(([svg]) => svg > 700));
  });

  test("makes no requests, even from injected elements", async (t) => {
    const server = await listen(t);
    const own = await context.newPage();
    await own.goto(page.address);
    await own.evaluate(() => window.stemtapReport.ready);
    const outcome = await own.evaluate(async (port) => {
      const to = `127.0.0.1:${port}/`;
      const broken = [];
      document.addEventListener("securitypolicyviolation", (event) => broken.push(event.effectiveDirective));
      const element = (name, more) => document.body.append(Object.assign(document.createElement(name), more));
      const fetched = await fetch(`http://${to}`, { mode: "no-cors" }).then(() => "reached", () => "refused");
      element("img", { src: `http://${to}a.png` });
      element("script", { src: `http://${to}a.js` });
      element("script", { textContent: "window.ran = 1" });
      element("link", { rel: "stylesheet", href: `http://${to}a.css` });
      element("iframe", { src: `http://${to}` });
      element("video", { src: `http://${to}a.mp4` });
      element("object", { data: `http://${to}` });
      try { new WebSocket(`ws://${to}`); } catch { /* refused at once */ }
      navigator.sendBeacon?.(`http://${to}`, "x");
      await new Promise((done) => setTimeout(done, 500));
      return { fetched, broken, ran: window.ran ?? null };
    }, server.address().port);
    assert.equal(server.asked, 0);
    assert.equal(outcome.fetched, "refused");
    assert.equal(outcome.ran, null);
    for (const directive of ["connect-src", "img-src", "script-src-elem", "style-src-elem", "frame-src", "media-src"]) {
      assert.ok(outcome.broken.includes(directive), `${directive} is not in ${outcome.broken}`);
    }
    await own.close();
  });

  test("logs no errors and makes no requests", () => assert.deepEqual(offenses(page), []));
});

describe("a session that stemtap wrote", () => {
  const profile = join(scratch, "run.csv");
  const session = join(scratch, "replayed");
  let page;
  before(async () => {
    run("generate", "llm-decode", "--launches", "100000", "-o", profile);
    run("replay", profile, "-q", "-o", session);
    writeFileSync(join(scratch, "evaluation.json"),
      run("evaluate", profile, "--runs", "3", "--methods", "optimal,root,random", "--json"));
    page = await openReport(context, makeReport(session, "--evaluation", join(scratch, "evaluation.json")));
  });

  test("is shown as it was written", async () => {
    const given = await page.evaluate(() => window.stemtapReport.data);
    assert.deepEqual(given.plan, readJson(join(session, "plan.json")));
    assert.deepEqual(given.session, readJson(join(session, "session.json")));
    assert.deepEqual(given.evaluation, readJson(join(scratch, "evaluation.json")));
    const mask = readFileSync(join(session, "mask.ndjson"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(given.mask.events.map(([kind, index]) => [kind, index]), mask.map((e) => [e.event, e.index]));
    assert.equal(await rowCount(page), given.plan.kernels.length);
    const numbers = numbersIn(Object.values(await chartSeries(page)));
    for (const kernel of given.plan.kernels) assert.ok(has(numbers, kernel.duration_ns), kernel.name);
    assert.ok(has(numbers, given.evaluation.summary[0].speedup_harmonic) ||
      has(numbers, given.evaluation.rows[0].speedup));
  });

  // The duration of a replay is unrelated to the run.
  test("is shown by launch", async () => assert.ok(await page.getByLabel("by launch").isChecked()));

  test("has no accessibility violations and no errors", async () => {
    assert.deepEqual(await accessibilityViolations(page), []);
    assert.deepEqual(offenses(page), []);
  });
});

test("a truncated file reports that it is truncated", async () => {
  const whole = readFileSync(join(scratch, "replayed", "report.html"), "utf8");
  for (const at of [whole.indexOf("stemtap-data") + 2000, whole.length - 5000]) {
    const file = join(scratch, "cut.html");
    writeFileSync(file, whole.slice(0, at));
    const page = await context.newPage();
    await page.goto(`file://${file}`);
    assert.match(await page.locator("body").innerText(), /truncated/, `${at} of ${whole.length}`);
    await page.close();
  }
});

test("a page without JavaScript reports that it needs JavaScript", async () => {
  const silent = await openBrowser({ javaScriptEnabled: false });
  const page = await silent.newPage();
  await page.goto(`file://${join(scratch, "replayed", "report.html")}`);
  assert.match(await page.locator("body").innerText(), /needs JavaScript/);
});

test("a page without launches has no empty figures, and one line says what is missing", async () => {
  const data = kinds.small();
  const nothing = { invocations: 0, duration_ns: 0, kernels: 0, clusters: 0, samples: 0, sampled_duration_ns: 0, speedup: 0,
    bound: 0, certified_bound: 0, observed_error: 0, plain_estimate_ns: 0, calibrated_estimate_ns: 0 };
  Object.assign(data.plan, { kernels: [], totals: { ...data.plan.totals, ...nothing } });
  Object.assign(data.overview, { kernels: [], observed: 0, timeline: [[0.01, 0, 0, 0, 0, 0, 0, 0]],
    activity: undefined, slices: { start_ns: 0, width_ns: 0, count: 0 } });
  const session = writeSession("nothing", { ...data, ranks: null, mask: { events: [] } });
  const page = await openReport(context, makeReport(session));
  assert.deepEqual(offenses(page), []);
  assert.deepEqual(await accessibilityViolations(page), []);
  for (const part of ["figure", ".lacks", ".grid", ".picker"]) assert.equal(await page.locator(part).count(), 0, part);
  assert.deepEqual(await page.locator("section").evaluateAll((all) => all.map((section) => section.id)), ["activity", "samples", "session"]);
  assert.equal(await page.locator("#missing").innerText(),
    "Not on this page: kernels, activity, histograms, timeline, drift: no launch was recorded.");
});

test("a section without data is absent, and so is its link", async () => {
  const data = kinds.small();
  const sections = async () => {
    const page = await openReport(context, makeReport(writeSession("parts", { ...data, evaluation: null })));
    assert.deepEqual(offenses(page), []);
    const links = await page.locator("nav a").evaluateAll((all) => all.map((link) => link.getAttribute("href").slice(1)));
    assert.deepEqual(await page.locator("section").evaluateAll((all) => all.map((section) => section.id)), links);
    return { page, links };
  };
  const without = await sections();
  assert.ok(!without.links.includes("methods") && !without.links.includes("ranges"), `${without.links}`);
  const [first, second] = data.plan.kernels[0].clusters[0].samples;
  Object.assign(first, { range: "decode/attention", step: 3 });
  Object.assign(second, { range: "decode/attention", step: 12 });
  data.session.counters.paused = 37;
  data.session.processes[0].paused = 37;
  data.session.devices.push({ ...data.session.devices[0], device: 1, duration_ns: Math.round(data.session.devices[0].duration_ns / 2) });
  const { page, links } = await sections();
  assert.ok(links.includes("ranges"));
  assert.match(await page.locator("#ranges").innerText(), /decode\/attention\s+2\s+1\s+3 to 12\s/);
  assert.match(await page.locator("#samples").innerText(), /37 launches were not recorded, because the program paused recording/);
  // The devices have 1 and 0.5 of the time, so the mean is 0.75.
  assert.match(await page.locator("#activity").innerText(), /has 33\.3 % more than the mean of the 2 devices/);
  assert.match(await page.locator("#activity").innerText(), /−33\.3 %/);
  assert.match(await page.locator("#session").innerText(), /Paused/);
  assert.deepEqual(await accessibilityViolations(page), []);
});

test("launch shapes are complete if the session separates them", async () => {
  const profile = join(scratch, "shapes.csv");
  writeFileSync(profile, "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,name\n" +
    Array.from({ length: 400 }, (_, i) => `${i},${i * 2000},${i % 2 ? 900 : 300},0,7,${i % 2 ? 64 : 8},1,1,128,1,1,gemm\n`).join(""));
  const shapes = async (name, ...options) => {
    const session = join(scratch, name);
    run("replay", profile, "-q", "-o", session, ...options);
    const page = await openReport(context, makeReport(session));
    assert.deepEqual(offenses(page), []);
    return page.locator(".panel", { has: page.getByRole("heading", { name: "Launch shapes" }) });
  };
  const separate = await shapes("by-shape", "--group-by", "launch");
  assert.match(await separate.innerText(), /64×1×1\s+128×1×1\s+200\s+900 ns\s+180\.0 us\s+75\.0 %/);
  assert.match(await separate.innerText(), /8×1×1\s+128×1×1\s+200\s+300 ns\s+60\.00 us\s+25\.0 %/);
  await separate.getByRole("button", { name: "8×1×1" }).click();
  assert.equal(await separate.getByRole("button", { name: "64×1×1" }).count(), 1); // now the other shape can be chosen
  const together = await shapes("by-name");
  assert.match(await together.innerText(), /Only shapes of samples: .*This command separates them:/);
  assert.match(await together.innerText(), new RegExp(`stemtap replay --group-by launch ${profile}`));
  assert.match(await together.innerText(), /(64|8)×1×1\s+128×1×1\s+\d/);
});

test("the commands of the next step run for one and two devices, even if one device has no sample", async () => {
  const bin = join(scratch, "bin");
  mkdirSync(bin);
  symlinkSync(stemtap, join(bin, "stemtap"));
  symlinkSync(join(dirname(fileURLToPath(import.meta.url)), "../support/stand_ins/ncu"), join(bin, "ncu"));
  writeFileSync(join(bin, "play"), "#!/bin/sh\n", { mode: 0o755 });
  const profile = join(scratch, "measured.csv");
  const names = ["void lib::gemm<128, lib::Half>(lib::Half const*, int)", "relu", "softmax"];
  const sampled = [];
  const deviceOf = {
    one: () => 0,
    unsampled: (i) => (i >= 3 && i < 6 ? 1 : 0), // right after the first launch of each kernel, which is captured
    two: (i) => Math.floor(i / 3) % 2,
  };
  for (const [devices, minimum] of [["one", 1], ["unsampled", 1], ["two", 8]]) {
    writeFileSync(profile, "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,name\n" +
      Array.from({ length: 600 }, (_, i) => `${i},${i * 2000},${500 + (i % 3) * 100 + (i % 7)},${deviceOf[devices](i)},7,8,1,1,128,1,1,"${names[i % 3]}"\n`).join(""));
    const session = join(scratch, `measured-${devices}`);
    run("replay", profile, "--min-samples", String(minimum), "-q", "-o", session);
    const page = await openReport(context, makeReport(session));
    const commands = async (title) => (await page.getByRole("region", { name: title }).innerText()).replace("PROGRAM", "play $device");
    const sh = (text) => spawnSync("sh", ["-e", "-c", text], { cwd: scratch, encoding: "utf8",
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, PROFILE: profile } });
    const counters = sh(await commands("Counter commands"));
    assert.equal(counters.status, 0, counters.stderr);
    const plan = readJson(join(session, "plan.json"));
    const samples = plan.totals.samples;
    const devicesOf = new Set(plan.kernels.flatMap((kernel) => kernel.clusters.flatMap((cluster) => cluster.samples.map((sample) => sample.device))));
    sampled.push(devicesOf.size);
    const read = [...counters.stdout.matchAll(/^(\d+) of \d+ samples with results/gm)].map((line) => Number(line[1]));
    assert.deepEqual([read.length, read.reduce((a, b) => a + b)], [devicesOf.size, samples], counters.stdout);
    for (const consumer of ["accelsim", "macsim", "nvbit", "sieve", "csv", "perfetto"]) {
      await page.getByLabel("Consumer").selectOption(consumer);
      const exported = sh(await commands("Export command"));
      assert.equal(exported.status, 0, `${consumer}: ${exported.stderr}`);
    }
    assert.match(await page.locator(".next").innerText(), new RegExp(`at most ${samples} times`));
  }
  assert.deepEqual(sampled, [1, 1, 2]); // otherwise the profiles do not test what the title states
});

test("kernels of one template can be distinguished in tables and legends", async () => {
  const profile = join(scratch, "alike.csv");
  const functors = ["MulFunctor", "CUDAFunctor_add", "direct_copy_kernel_cuda"];
  writeFileSync(profile, "index,start_ns,duration_ns,name\n" + Array.from({ length: 300 }, (_, i) =>
    `${i},${i * 2000},${500 + (i % 3) * 100},"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::` +
    `${functors[i % 3]}<float> > >(int, at::native::gpu_kernel_impl_nocast<float>)"\n`).join(""));
  run("replay", profile, "-q", "-o", join(scratch, "alike"));
  const page = await openReport(context, makeReport(join(scratch, "alike")));
  for (const width of [1440, 1024]) {
    await page.setViewportSize({ width, height: 900 });
    for (const place of [".grid[aria-label^=Kernels] td .name", ".grid[aria-label^=Samples] td .name", "#drift .legend bdi"]) {
      const names = page.locator(place);
      await names.first().evaluate((name) => name.scrollIntoView());
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))); // the table is laid out
      const shown = await names.evaluateAll((all) => all.map((name) => ({ text: name.textContent, isCut: name.scrollWidth > name.clientWidth + 1 })));
      for (const functor of functors) assert.ok(shown.some(({ text }) => text.includes(functor)), `${place}: no ${functor} at ${width}`);
      assert.deepEqual(shown.filter(({ isCut }) => isCut), [], `${place} at ${width}`);
    }
  }
});

test("a plan alone is shown", async () => {
  const data = kinds.bare();
  const session = writeSession("bare", { ...data, mask: null });
  const page = await openReport(context, makeReport(session));
  assert.equal(await rowCount(page), data.plan.kernels.length);
  assert.deepEqual(offenses(page), []);
  assert.deepEqual(await accessibilityViolations(page), []);
});

test("the page of a profile makes its plan and its session by the commands on it", async () => {
  const profile = join(scratch, "profile 1.csv");
  run("generate", "llm-decode", "--launches", "20000", "-o", profile);
  const file = join(scratch, "profile.html");
  run("report", profile, "-o", file);
  const page = await openReport(context, file);
  assert.equal(await page.locator("h1").innerText(), "Where the GPU time of profile 1.csv goes");
  const bin = join(scratch, "bin-of-profile");
  mkdirSync(bin);
  symlinkSync(stemtap, join(bin, "stemtap"));
  const work = join(scratch, "elsewhere");
  mkdirSync(work);
  const commandOf = async (title) => (await page.getByRole("region", { name: title }).innerText()).trim();
  for (const title of ["Plan command", "Export command", "Replay command", "Command that separates shapes"]) {
    const ran = spawnSync("sh", ["-e", "-c", await commandOf(title)], { cwd: work, encoding: "utf8", env: { ...process.env, PATH: `${bin}:${process.env.PATH}` } });
    assert.equal(ran.status, 0, `${title}: ${ran.stderr}`);
  }
  assert.deepEqual(readJson(join(work, "plan.json")).kernels, await page.evaluate(() => window.stemtapReport.data.plan.kernels));
  assert.match(await page.locator("#missing p").innerText(),
    /^Not on this page: activity, idle time and devices, histograms, timeline, drift, losses and processes: a plan has no session\. This command makes one:$/);
  assert.deepEqual(offenses(page), []);
  assert.deepEqual(await accessibilityViolations(page), []);
});

test("columns without a value are left out", async () => {
  const data = kinds.small();
  for (const kernel of data.plan.kernels) {
    for (const cluster of kernel.clusters) for (const sample of cluster.samples) Object.assign(sample, { device: null, stream: null });
  }
  for (const process of data.session.processes) delete process.driver_version;
  const page = await openReport(context, makeReport(writeSession("columns", data)));
  const heads = async (table) => {
    await table.scrollIntoViewIfNeeded();
    return table.locator("thead th").allInnerTexts();
  };
  const samples = await heads(page.getByRole("table", { name: "Samples" }));
  assert.ok(samples.includes("Grid") && !samples.some((name) => /Device|Stream|Range|Step/.test(name)), `${samples}`);
  const kernels = await heads(page.getByRole("table", { name: "Kernels" }));
  assert.ok(kernels.includes("Category") && !kernels.includes("Uncovered"), `${kernels}`);
  const processes = await heads(page.locator("#session table").last());
  assert.ok(processes.includes("CUPTI") && !processes.some((name) => /Driver|Remark/.test(name)), `${processes}`);
  assert.ok(!(await page.locator("#session .list").first().innerText()).includes("–"));
});

test("each of several devices has a strip", async () => {
  const profile = join(scratch, "devices.csv");
  writeFileSync(profile, "index,start_ns,duration_ns,device,stream,name\n" + Array.from({ length: 2000 }, (_, i) =>
    `${i},${i * 1000},${i % 2 ? 1500 : 500},${i % 2},7,gemm\n`).join(""));
  run("replay", profile, "-q", "-o", join(scratch, "devices"));
  const page = await openReport(context, makeReport(join(scratch, "devices")));
  assert.equal(await page.locator("#title-strip").innerText(), "The run over time, 2 devices");
  assert.deepEqual(await page.evaluate(() => window.stemtapReport.charts.strip.option.yAxis.data), ["device 0", "device 1", "samples"]);
  await page.locator("#figure-strip summary", { hasText: "Show as a table" }).click();
  await page.locator("#figure-strip .plain tbody tr").nth(20).waitFor(); // drawn when it opens
  const row = await page.locator("#figure-strip .plain tbody tr").nth(20).locator("td").allInnerTexts();
  const percents = row.slice(1, 3).map((text) => Number(text.replace(" %", "")));
  assert.ok(Math.abs(percents[0] - 25) < 3 && Math.abs(percents[1] - 75) < 5, `${row}`);
  assert.deepEqual(offenses(page), []);
  assert.deepEqual(await accessibilityViolations(page), []);
});
