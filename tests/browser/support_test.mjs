// SPDX-License-Identifier: Apache-2.0
// Verifies that the checks of the other tests detect a page that violates them.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { accessibilityViolations, listen, offenses, openBrowser, openReport, scratch, tabStops, unreached } from "./support.mjs";

test("requests, warnings, exceptions and accessibility violations are detected", async (t) => {
  const server = await listen(t);
  const file = join(scratch, "wrong.html");
  writeFileSync(file, `<!doctype html><html><title></title>
    <p style="color:#ddd;background:#fff">low contrast</p><img src="http://127.0.0.1:${server.address().port}/x">
    <button>reached</button><button tabindex="-1" onclick="1">never reached</button>
    <script>window.stemtapReport = { ready: Promise.resolve(), charts: {} };
      console.warn("a warning"); setTimeout(() => { throw new Error("thrown"); });</script></html>`);
  const context = await openBrowser();
  const page = await openReport(context, file);
  const heard = offenses(page).join("\n");
  assert.match(heard, /request: http:\/\/127\.0\.0\.1/);
  assert.match(heard, /warning: a warning/);
  assert.match(heard, /thrown/);
  const breaches = (await accessibilityViolations(page)).join("\n");
  assert.match(breaches, /color-contrast/);
  assert.match(breaches, /image-alt/);
  assert.match(breaches, /html-has-lang/);
  assert.deepEqual(await tabStops(page), { stops: 1, lost: 0 });
  assert.deepEqual(await unreached(page), ["button: never reached"]);
  assert.ok(server.asked > 0);
});
