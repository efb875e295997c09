// SPDX-License-Identifier: Apache-2.0
// A report of ten thousand kernels with a hundred thousand samples is small enough for email and opens quickly.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import test, { before } from "node:test";
import { kinds } from "../../report/test/fixture.mjs";
import { kernelTable, makeReport, offenses, openBrowser, openReport, scratch, writeSession } from "./support.mjs";

const maxBytes = 10e6;
// It takes 1 to 2 s on an idle machine; the limit allows for a busy machine.
const maxMs = 10_000;

let context;
before(async () => (context = await openBrowser()));

test("the report is small and opens quickly", async (t) => {
  const data = kinds.huge();
  const { samples, kernels } = data.plan.totals;
  assert.ok(kernels >= 10_000 && samples >= 90_000, `${kernels} kernels, ${samples} samples`);
  // A mask has at least one line for each sample.
  data.mask.events = data.plan.kernels.flatMap((kernel, at) => kernel.clusters.flatMap((cluster, number) =>
    cluster.samples.map((s) => ["capture", s.index, at, s.occurrence, number, 1795310000000000000 + s.index * 15000])));
  data.mask.events.sort((one, other) => one[1] - other[1]);
  const session = writeSession("huge", data);
  const made = Date.now();
  const file = makeReport(session, "--evaluation", join(scratch, "huge-evaluation.json"));
  t.diagnostic(`stemtap report: ${Date.now() - made} ms`);
  const bytes = statSync(file).size;
  t.diagnostic(`${kernels} kernels, ${samples} samples: ${(bytes / 1e6).toFixed(2)} MB`);
  assert.ok(bytes < maxBytes, `${bytes} bytes`);

  const page = await openReport(context, file);
  t.diagnostic(`opened in ${page.openedMs} ms`);
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
  t.diagnostic(`${(heap / 1e6).toFixed(0)} MB of heap`);
  assert.ok(page.openedMs < maxMs, `${page.openedMs} ms`);
  assert.deepEqual(offenses(page), []);

  // Only visible rows are drawn, but the search covers all rows.
  const table = await kernelTable(page);
  assert.equal(await table.getAttribute("aria-rowcount"), String(kernels + 1));
  const drawn = await page.locator("tr").count();
  assert.ok(drawn <= 2_000, `${drawn} rows`);
  const { name } = data.plan.kernels.at(-1);
  const begin = Date.now();
  await page.getByRole("searchbox", { name: "Search kernels" }).fill(name);
  assert.equal(await table.getAttribute("aria-rowcount"), "2");
  assert.equal(await table.locator("tbody td[title]").first().getAttribute("title"), name);
  t.diagnostic(`found in ${Date.now() - begin} ms`);

  // Arrow keys move between rows, Enter selects one, and Tab skips the table in one step.
  await page.getByRole("searchbox", { name: "Search kernels" }).fill("");
  const grid = page.locator(".grid", { has: page.locator('table[aria-label="Kernels"]') });
  const focused = () => grid.evaluate((box) => document.activeElement === box ? "table"
    : box.contains(document.activeElement) ? document.activeElement.closest("tr").getAttribute("aria-rowindex") : "elsewhere");
  await grid.focus();
  const rows = [];
  for (const key of ["ArrowDown", "ArrowDown", "End", "ArrowUp", "Enter"]) {
    await page.keyboard.press(key);
    rows.push(await focused());
  }
  assert.deepEqual(rows, ["2", "3", String(kernels + 1), String(kernels), String(kernels)]);
  assert.equal(await grid.locator("tr.chosen").getAttribute("aria-rowindex"), String(kernels));
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "elsewhere");
});
