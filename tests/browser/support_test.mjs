// SPDX-License-Identifier: Apache-2.0
// A page that does everything wrong is caught: what the other tests do not hear of does not happen.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import test from "node:test";
import { accessibilityBreaches, offences, openBrowser, openReport, scratch, tabStops, unreached } from "./support.mjs";

test("a page that asks, complains, throws and hides is heard", async () => {
  const server = createServer((_, answer) => answer.end("")).listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const file = join(scratch, "wrong.html");
  writeFileSync(file, `<!doctype html><html><title></title>
    <p style="color:#ddd;background:#fff">hardly to be read</p><img src="http://127.0.0.1:${server.address().port}/x">
    <button>reached</button><button tabindex="-1" onclick="1">never reached</button>
    <script>window.stemtapReport = { ready: Promise.resolve(), charts: {} };
      console.warn("a warning"); setTimeout(() => { throw new Error("thrown"); });</script></html>`);
  const context = await openBrowser();
  const page = await openReport(context, file);
  const heard = offences(page).join("\n");
  assert.match(heard, /request: http:\/\/127\.0\.0\.1/);
  assert.match(heard, /warning: a warning/);
  assert.match(heard, /thrown/);
  const breaches = (await accessibilityBreaches(page)).join("\n");
  assert.match(breaches, /color-contrast/);
  assert.match(breaches, /image-alt/);
  assert.match(breaches, /html-has-lang/);
  assert.deepEqual((await tabStops(page), await unreached(page)), ["button: never reached"]);
  await context.close();
  server.close();
});
