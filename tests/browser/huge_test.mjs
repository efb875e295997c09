// SPDX-License-Identifier: Apache-2.0
// Ten thousand kernels with a hundred thousand samples: a file that can be mailed, and a page that opens.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import test, { before } from "node:test";
import { kinds } from "../../report/test/fixture.mjs";
import { kernelTable, makeReport, offences, openBrowser, openReport, scratch, writeSession } from "./support.mjs";

const mostBytes = 10e6;
// It takes 1 to 2 s on an idle machine; this is for one with much else to do.
const mostMs = 10_000;

let context;
before(async () => (context = await openBrowser()));

test("it opens soon and is small", async (t) => {
  const data = kinds.huge();
  const { samples, kernels } = data.plan.totals;
  assert.ok(kernels >= 10_000 && samples >= 90_000, `${kernels} kernels, ${samples} samples`);
  // A mask has a line for each of them, at least.
  data.mask.events = data.plan.kernels.flatMap((kernel, at) => kernel.clusters.flatMap((cluster, number) =>
    cluster.samples.map((s) => ["capture", s.index, at, s.occurrence, number, 1795310000000000000 + s.index * 15000])));
  data.mask.events.sort((one, other) => one[1] - other[1]);
  const session = writeSession("huge", data);
  const made = Date.now();
  const file = makeReport(session, "--evaluation", join(scratch, "huge-evaluation.json"));
  t.diagnostic(`stemtap report: ${Date.now() - made} ms`);
  const bytes = statSync(file).size;
  t.diagnostic(`${kernels} kernels, ${samples} samples: ${(bytes / 1e6).toFixed(2)} MB`);
  assert.ok(bytes < mostBytes, `${bytes} bytes`);

  const page = await openReport(context, file);
  t.diagnostic(`opened in ${page.openedMs} ms`);
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
  t.diagnostic(`${(heap / 1e6).toFixed(0)} MB of heap`);
  assert.ok(page.openedMs < mostMs, `${page.openedMs} ms`);
  assert.deepEqual(offences(page), []);

  // Nobody draws ten thousand rows at once, and the search goes through all of them.
  const table = await kernelTable(page);
  assert.equal(await table.getAttribute("aria-rowcount"), String(kernels + 1));
  const rows = await page.locator("tr").count();
  assert.ok(rows <= 2_000, `${rows} rows`);
  const { name } = data.plan.kernels.at(-1);
  const begin = Date.now();
  await page.getByRole("searchbox", { name: "Search kernels" }).fill(name);
  assert.equal(await table.getAttribute("aria-rowcount"), "2");
  assert.equal(await table.locator("tbody td[title]").first().getAttribute("title"), name);
  t.diagnostic(`found in ${Date.now() - begin} ms`);
});
