// SPDX-License-Identifier: Apache-2.0
// Names that contain markup, scripts, terminal codes or direction marks stay text.

import assert from "node:assert/strict";
import { join } from "node:path";
import test, { before } from "node:test";
import { hostileNames, kinds } from "../../report/test/fixture.mjs";
import { accessibilityViolations, kernelTable, makeReport, offenses, openBrowser, openReport, scratch, writeSession } from "./support.mjs";

let context;
let page;
const data = kinds.hostile();
before(async () => {
  context = await openBrowser();
  page = await openReport(context,
    makeReport(writeSession("hostile <b>'\u202E", data), "--evaluation", join(scratch, "hostile <b>'\u202E-evaluation.json")));
});

test("names are not executed and do not become elements", async () => {
  const found = await page.evaluate(() => ({ pwned: window.pwned ?? null, scripts: document.scripts.length,
    foreign: document.querySelectorAll("#page img, #page b, #page i, #page iframe, [onerror], [onload], #page script").length,
    links: [...document.links].map((link) => link.href).filter((href) => !/^(#|blob:|data:|file:)/.test(href)) }));
  assert.deepEqual(found, { pwned: null, scripts: 3, foreign: 0, links: [] });
});

test("every name is shown as text", async () => {
  // Names are short in cells and complete in tooltips.
  const text = await (await kernelTable(page)).evaluate((table) =>
    [table, ...table.querySelectorAll("[title]")].map((e) => `${e.textContent} ${e.title ?? ""}`).join("\n"));
  for (const name of hostileNames) {
    // Characters other than letters may be shown as code points.
    for (const word of name.slice(0, 60).match(/[a-z=<>&;{}|]{4,}/gi) ?? []) {
      assert.ok(text.includes(word), `${JSON.stringify(word)} of ${JSON.stringify(name.slice(0, 60))}`);
    }
  }
});

test("every loss is listed", async () => {
  const lost = await page.locator("#session .panel", { has: page.getByRole("heading", { name: "Losses" }) }).innerText();
  for (const [name, n] of [...Object.entries(data.session.counters.losses), ["slots_refused", 6]]) {
    if (n > 0) assert.match(lost, new RegExp(`${name}\\s+${n.toLocaleString("en-US")}\\s`), name);
  }
});

test("names in the data of the page are unchanged", async () => {
  const names = await page.evaluate(() => window.stemtapReport.data.plan.kernels.map((kernel) => kernel.name));
  const wellFormed = (name) => Buffer.from(name, "utf8").toString("utf8");
  assert.deepEqual(names, data.plan.kernels.map((kernel) => wellFormed(kernel.name)));
});

// Without the patch of zrender, its cache of text widths writes to Object.prototype if a text is `__proto__`.
test("names do not change Object.prototype", async () => {
  await page.evaluate(() => Object.values(window.stemtapReport.charts).forEach((chart) => chart.draw()));
  assert.deepEqual(await page.evaluate(() => Object.keys(Object.prototype)), []);
});

test("names break neither layout nor accessibility", async () => {
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 900 });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${over} pixels too wide at ${width}`);
  }
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).direction), "ltr");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await accessibilityViolations(page), []);
  }
});

test("the page makes no requests and logs no errors", () => assert.deepEqual(offenses(page), []));
