// SPDX-License-Identifier: Apache-2.0
//
// What the browser tests share: sessions, their reports as `stemtap report` makes them, and Chromium, which
// is watched for every request and every word on its console.
//
// Environment, set by CMakeLists.txt: STEMTAP, the program; STEMTAP_BROWSER_PACKAGES, the folder with
// node_modules; STEMTAP_CHROMIUM, the browser. What is missing skips a test, visibly (exit code 77).

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";

export const stemtap = process.env.STEMTAP ?? "stemtap";
const chromium = process.env.STEMTAP_CHROMIUM ?? "/usr/bin/chromium";
// The machine may have much else to do: bounds on what takes time are there to end, not to judge.
const patience = 120_000;

function skip(why) {
  console.log(`SKIPPED: ${why}`);
  process.exit(77);
}

function loadPackages() {
  try {
    const load = createRequire(join(process.env.STEMTAP_BROWSER_PACKAGES ?? process.cwd(), "x.js"));
    return { playwright: load("playwright-core"), axe: load("axe-core") };
  } catch (error) {
    return skip(`the packages of the browser tests are not installed (${error.code ?? error.message})`);
  }
}

if (!existsSync(chromium)) skip(`there is no ${chromium} (Debian: apt-get install chromium)`);
const { playwright, axe } = loadPackages();

export const scratch = mkdtempSync(join(tmpdir(), "stemtap-browser-"));
const browsers = [];
after(async () => {
  for (const browser of browsers) await browser.close();
  // The last of Chromium's processes may still write.
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

// Runs stemtap and gives its stdout.
export function run(...args) {
  return execFileSync(stemtap, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
}

// The report of a session folder.
export function makeReport(session, ...args) {
  const file = join(session, "report.html");
  const made = spawnSync(stemtap, ["report", session, ...args], { encoding: "utf8" });
  if (made.status === 1 && made.stderr.includes("without the page")) skip(made.stderr.trim());
  if (made.status !== 0) throw new Error(`stemtap report: ${made.stderr}`);
  return file;
}

// A session folder with what `data`, in the form of a report's, holds. A collector writes no text that is
// no Unicode, and no event but its own.
export function writeSession(name, data) {
  const folder = join(scratch, name);
  mkdirSync(folder, { recursive: true });
  const whole = (key, value) =>
    typeof value === "string" ? Buffer.from(value, "utf8").toString("utf8") : value;
  const write = (file, value) => {
    if (value) writeFileSync(join(folder, file), JSON.stringify(value, whole) + "\n");
  };
  write("plan.json", data.plan);
  write("session.json", data.session);
  write("overview.json", data.overview);
  const events = (data.mask?.events ?? [])
    .filter(([kind, index]) => /^(capture|close|reopen|top_up)$/.test(kind) && index >= 0)
    .map(([event, index, kernel, occurrence, cluster, time_ns]) =>
      JSON.stringify({ event, index, kernel: data.plan.kernels[kernel]?.name ?? "?", occurrence, cluster, time_ns },
        whole));
  if (data.mask) writeFileSync(join(folder, "mask.ndjson"), events.map((line) => line + "\n").join(""));
  if (data.evaluation) writeFileSync(join(scratch, `${name}-evaluation.json`), JSON.stringify(data.evaluation, whole));
  return folder;
}

// Chromium with a user of its own, who is gone afterwards.
export async function openBrowser(options = {}) {
  const context = await playwright.chromium.launchPersistentContext(mkdtempSync(join(scratch, "user-")), {
    executablePath: chromium, headless: true, timeout: patience, acceptDownloads: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-sync",
      "--disable-component-update", "--disable-dev-shm-usage"],
    viewport: { width: 1280, height: 900 }, ...options });
  browsers.push(context);
  context.setDefaultTimeout(patience);
  return context;
}

// Opens `file` and waits until it is drawn. What the page asks for and says is collected in page.heard.
export async function openReport(context, file) {
  const page = await context.newPage();
  page.heard = { requests: [], words: [], errors: [] };
  page.on("request", (request) => page.heard.requests.push(request.url()));
  page.on("console", (word) => {
    if (["error", "warning"].includes(word.type())) page.heard.words.push(`${word.type()}: ${word.text()}`);
  });
  page.on("pageerror", (error) => page.heard.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    page.heard.errors.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.address = pathToFileURL(file).href;
  const begin = Date.now();
  await page.goto(page.address, { timeout: patience });
  await page.evaluate(() => window.stemtapReport.ready);
  // Two frames on, what was drawn is seen.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  page.openedMs = Date.now() - begin;
  return page;
}

// What a page did that it must not: requests for anything but itself, and any complaint.
export function offences(page) {
  const foreign = page.heard.requests.filter((url) =>
    url.split("#")[0] !== page.address && !/^(data|blob):/.test(url));
  return [...foreign.map((url) => `request: ${url}`), ...page.heard.words, ...page.heard.errors];
}

// The breaches of WCAG 2.1 A and AA that axe finds, one line each; or of other rules, by axe's tags.
export async function accessibilityBreaches(page, tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]) {
  const devtools = await page.context().newCDPSession(page);
  const loaded = await devtools.send("Runtime.evaluate", { expression: axe.source + ";0" });
  if (loaded.exceptionDetails) throw new Error(JSON.stringify(loaded.exceptionDetails));
  await devtools.detach();
  const result = await page.evaluate((values) => window.axe.run(document,
    { runOnly: { type: "tag", values }, resultTypes: ["violations"] }), tags);
  return result.violations.flatMap(({ id, impact, nodes }) => nodes.slice(0, 5).map((node) =>
    `${id} (${impact}): ${node.target.join(" ")}: ${node.failureSummary?.replace(/\s+/g, " ").slice(0, 300)}`));
}

export const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));

// What takes part in the work with a keyboard: everything that a mouse may click or type into.
const controls = "a[href], button, input, select, textarea, summary, [tabindex], [role=button], [role=tab]";

// Goes through the page by Tab from its beginning. Each stop carries an attribute then; `lost` is how many presses
// came to nothing on the way.
export async function tabStops(page, most = 2000) {
  await page.evaluate(() => {
    for (const stop of document.querySelectorAll("[data-stop]")) stop.removeAttribute("data-stop");
    document.activeElement?.blur();
    window.scrollTo(0, 0);
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
  });
  let stops = 0;
  let lost = 0;
  let inVain = 0;
  while (stops < most && inVain < 2) {
    await page.keyboard.press("Tab");
    const isNew = await page.evaluate(() => {
      const at = document.activeElement;
      if (!at || at === document.body || at.hasAttribute("data-stop")) return false;
      at.setAttribute("data-stop", "");
      return true;
    });
    if (isNew) {
      ++stops;
      lost += inVain;
      inVain = 0;
    } else {
      ++inVain;
    }
  }
  return { stops, lost };
}

// Controls in sight that no Tab came to, but those of a group that one Tab enters and arrows go through.
export async function unreached(page) {
  return page.evaluate((wanted) => [...document.querySelectorAll(wanted)].filter((element) => {
    if (element.hasAttribute("data-stop") || element.closest("[inert]")) return false;
    if (element.disabled || !element.checkVisibility({ visibilityProperty: true })) return false;
    if (element.matches("main, [role=dialog], h1, h2, h3, section") || element.ariaHidden === "true") return false;
    // Arrows go through the rows of a table that Tab came to.
    if (element.closest(".grid[data-stop] tbody")) return false;
    const group = element.closest("[role=radiogroup], [role=tablist], [role=toolbar], [role=grid], fieldset");
    if (group?.querySelector("[data-stop]") && (element.tabIndex < 0 || element.type === "radio")) return false;
    return true;
  }).map((element) => `${element.tagName.toLowerCase()}: ${(element.ariaLabel ?? element.textContent).trim().slice(0, 60)}`),
  controls);
}

// What each chart shows: its series with their data, as plain values.
export async function chartSeries(page) {
  return page.evaluate(() => Object.fromEntries(Object.entries(window.stemtapReport.charts).map(([name, chart]) =>
    [name, JSON.parse(JSON.stringify((chart.option?.series ?? []).map(({ type, name, data, kernel }) =>
      ({ type, name, data, kernel }))))])));
}

// Every number in there.
export function numbersIn(value, into = []) {
  if (typeof value === "number") into.push(value);
  else if (value && typeof value === "object") Object.values(value).forEach((part) => numbersIn(part, into));
  return into;
}

// A server that counts what it is asked for, until the test ends.
export async function listen(t) {
  const server = createServer((_, answer) => {
    ++server.asked;
    answer.end();
  });
  server.asked = 0;
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

// The table of all kernels, which is filled when it is scrolled to. Only the rows near to what is seen are there;
// aria-rowcount says how many there are, and the head.
export async function kernelTable(page) {
  const table = page.getByRole("table", { name: "Kernels" });
  await table.scrollIntoViewIfNeeded();
  await page.locator('table[aria-label="Kernels"][aria-rowcount]').waitFor();
  return table;
}
