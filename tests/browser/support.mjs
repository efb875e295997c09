// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the browser tests: sessions, their reports from `stemtap report`, and Chromium with a log of all requests and
// console messages.
//
// Environment, set by CMakeLists.txt: STEMTAP, the program; STEMTAP_BROWSER_PACKAGES, the directory with
// node_modules; STEMTAP_CHROMIUM, the browser. If one is missing, the tests are skipped (exit code 77).

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
// The machine may be busy, so time limits only end a test that hangs.
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

if (!existsSync(chromium)) skip(`${chromium} is not installed (Debian: apt-get install chromium)`);
const { playwright, axe } = loadPackages();

export const scratch = mkdtempSync(join(tmpdir(), "stemtap-browser-"));
const browsers = [];
after(async () => {
  for (const browser of browsers) await browser.close();
  // Chromium's last processes may still write files.
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

// Runs stemtap and returns its stdout.
export function run(...args) {
  return execFileSync(stemtap, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
}

// Creates the report of a session directory and returns its path.
export function makeReport(session, ...args) {
  const file = join(session, "report.html");
  const made = spawnSync(stemtap, ["report", session, ...args], { encoding: "utf8" });
  if (made.status === 1 && made.stderr.includes("without the page")) skip(made.stderr.trim());
  if (made.status !== 0) throw new Error(`stemtap report: ${made.stderr}`);
  return file;
}

// Writes a session directory with the contents of `data`, which has the format of a report's data. Like a collector, it
// writes only valid Unicode and known events.
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
  write("ranks.json", data.ranks);
  const events = (data.mask?.events ?? [])
    .filter(([kind, index]) => /^(capture|close|reopen|top_up)$/.test(kind) && index >= 0)
    .map(([event, index, kernel, occurrence, cluster, time_ns]) =>
      JSON.stringify({ event, index, kernel: data.plan.kernels[kernel]?.name ?? "?", occurrence, cluster, time_ns },
        whole));
  if (data.mask) writeFileSync(join(folder, "mask.ndjson"), events.map((line) => line + "\n").join(""));
  if (data.evaluation) writeFileSync(join(scratch, `${name}-evaluation.json`), JSON.stringify(data.evaluation, whole));
  return folder;
}

// Starts Chromium with a temporary profile.
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

// Opens `file` and waits until it is drawn. Collects requests and console messages in page.heard.
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
  // The drawing is visible after two frames.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  page.openedMs = Date.now() - begin;
  return page;
}

// Returns the requests of a page for other files, and its error messages.
export function offenses(page) {
  const foreign = page.heard.requests.filter((url) =>
    url.split("#")[0] !== page.address && !/^(data|blob):/.test(url));
  return [...foreign.map((url) => `request: ${url}`), ...page.heard.words, ...page.heard.errors];
}

// Returns the violations of WCAG 2.1 A and AA that axe finds, one line each; `tags` selects other rules.
export async function accessibilityViolations(page, tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]) {
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

// Selects everything that can be used with a mouse, and therefore must be usable with a keyboard.
const controls = "a[href], button, input, select, textarea, summary, [tabindex], [role=button], [role=tab]";

// Moves through the page with Tab and marks each stop with an attribute. `lost` counts presses without an effect.
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

// Returns visible controls that Tab did not reach, except in groups in which arrow keys move the focus.
export async function unreached(page) {
  return page.evaluate((wanted) => [...document.querySelectorAll(wanted)].filter((element) => {
    if (element.hasAttribute("data-stop") || element.closest("[inert]")) return false;
    if (element.disabled || !element.checkVisibility({ visibilityProperty: true })) return false;
    if (element.matches("main, [role=dialog], h1, h2, h3, section") || element.ariaHidden === "true") return false;
    // Arrow keys move the focus between the rows of a table.
    if (element.closest(".grid[data-stop] tbody")) return false;
    const group = element.closest("[role=radiogroup], [role=tablist], [role=toolbar], [role=grid], fieldset");
    if (group?.querySelector("[data-stop]") && (element.tabIndex < 0 || element.type === "radio")) return false;
    return true;
  }).map((element) => `${element.tagName.toLowerCase()}: ${(element.ariaLabel ?? element.textContent).trim().slice(0, 60)}`),
  controls);
}

// Returns the data of each chart's series as plain values.
export async function chartSeries(page) {
  return page.evaluate(() => Object.fromEntries(Object.entries(window.stemtapReport.charts).map(([name, chart]) =>
    [name, JSON.parse(JSON.stringify((chart.option?.series ?? []).map(({ type, name, data, kernel }) =>
      ({ type, name, data, kernel }))))])));
}

// Returns every number in `value`.
export function numbersIn(value, into = []) {
  if (typeof value === "number") into.push(value);
  else if (value && typeof value === "object") Object.values(value).forEach((part) => numbersIn(part, into));
  return into;
}

// Starts a server that counts requests until the test ends.
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

// Returns the table of all kernels, which is filled when it is scrolled into view. Only rows near the visible part exist;
// aria-rowcount is the number of all rows, including the header.
export async function kernelTable(page) {
  const table = page.getByRole("table", { name: "Kernels" });
  await table.scrollIntoViewIfNeeded();
  await page.locator('table[aria-label="Kernels"][aria-rowcount]').waitFor();
  return table;
}
