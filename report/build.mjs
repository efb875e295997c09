// SPDX-License-Identifier: Apache-2.0
//
// Makes dist/report.html: one file that asks for nothing else. STEMTAP_REPORT_OUT names another folder to
// write to. `node build.mjs --notice` writes NOTICE anew from the packages installed; a build fails when the
// two differ, so that no package comes in without its licence.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { mend } from "./mend.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.env.STEMTAP_REPORT_OUT || join(here, "dist");
const placeholder = ["@", "STEMTAP_DATA", "@"].join("");

// What of each package's text has to come along with code of it.
const licences = [
  ["echarts", ["NOTICE", "LICENSE", "licenses/LICENSE-d3"]],
  ["zrender", ["LICENSE"]],
  ["tslib", ["LICENSE.txt"]],
];

const read = (...path) => readFileSync(join(here, ...path), "utf8");

function notice() {
  const parts = ["report.html holds code of these packages besides stemtap's own. Of zrender, lib/core/LRU.js is changed: its\n" +
    "maps have no prototype."];
  for (const [name, files] of licences) {
    const { version } = JSON.parse(read("node_modules", name, "package.json"));
    parts.push(`${"=".repeat(72)}\n${name} ${version}`);
    for (const file of files) {
      const text = read("node_modules", name, file).replaceAll("\r\n", "\n");
      parts.push(text.replace(/[ \t]+$/gm, "").trim());
    }
  }
  return parts.join("\n\n") + "\n";
}

function fill(template, parts) {
  return template.replace(/%([A-Z]+)%/g, (whole, name) => parts[name] ?? whole);
}

async function bundle() {
  const common = { absWorkingDir: here, bundle: true, minify: true, write: false, target: "es2022",
    legalComments: "none", plugins: [mend], logLevel: "warning", charset: "utf8" };
  const script = await build({ ...common, entryPoints: ["src/main.ts"], format: "iife", metafile: true });
  const style = await build({ ...common, entryPoints: ["src/style.css"] });
  return { script: script.outputFiles[0].text.trim(), style: style.outputFiles[0].text.trim(),
    inputs: Object.keys(script.metafile.inputs) };
}

const collected = notice();
if (process.argv.includes("--notice")) {
  writeFileSync(join(here, "NOTICE"), collected);
} else if (read("NOTICE") !== collected) {
  throw new Error("NOTICE is not that of the packages installed: run node build.mjs --notice and look at it");
}

const { script, style, inputs } = await bundle();
const known = new Set(licences.map(([name]) => name));
for (const input of inputs) {
  const name = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1];
  if (name !== undefined && !known.has(name)) throw new Error(`${name} is in the page, its licence is not`);
}
for (const [what, text] of [["script", script], ["style", style], ["NOTICE", collected]]) {
  if (/<\/script|<\/style|<!--/i.test(text)) throw new Error(`${what} would end the element it stands in`);
}

// The one script that may run is this one, by its hash: were data ever taken for markup, it would still not run.
const hash = createHash("sha256").update(script).digest("base64");
const page = fill(read("src", "page.html"), {
  CSP: `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; ` +
    "base-uri 'none'; form-action 'none'",
  STYLE: style, DATA: placeholder, NOTICE: collected, SCRIPT: script });
if (page.split(placeholder).length !== 2) throw new Error("the page must hold its placeholder exactly once");

mkdirSync(out, { recursive: true });
const target = join(out, "report.html");
writeFileSync(target + ".new", page);
renameSync(target + ".new", target);
console.log(`${target}: ${Math.round(page.length / 1024)} KiB`);
