// SPDX-License-Identifier: Apache-2.0
//
// Builds dist/report.html, a single file that loads no other files. STEMTAP_REPORT_OUT selects a different output
// directory. `node build.mjs --notice` rewrites NOTICE from the installed packages. The build fails if NOTICE differs, so
// no package is included without its license.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { patchZrender } from "./patch_zrender.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.env.STEMTAP_REPORT_OUT || join(here, "dist");
const placeholder = ["@", "STEMTAP_DATA", "@"].join("");

// License files that must accompany the code of each package.
const licenses = [
  ["echarts", ["NOTICE", "LICENSE", "licenses/LICENSE-d3"]],
  ["zrender", ["LICENSE"]],
  ["tslib", ["LICENSE.txt"]],
];

const read = (...path) => readFileSync(join(here, ...path), "utf8");

function notice() {
  const parts = ["In addition to stemtap's own code, report.html contains code from these packages. In zrender,\n" +
    "lib/core/LRU.js is modified: its maps have no prototype."];
  for (const [name, files] of licenses) {
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
    legalComments: "none", plugins: [patchZrender], logLevel: "warning", charset: "utf8" };
  const script = await build({ ...common, entryPoints: ["src/main.ts"], format: "iife", metafile: true });
  const style = await build({ ...common, entryPoints: ["src/style.css"] });
  return { script: script.outputFiles[0].text.trim(), style: style.outputFiles[0].text.trim(),
    inputs: Object.keys(script.metafile.inputs) };
}

const collected = notice();
if (process.argv.includes("--notice")) {
  writeFileSync(join(here, "NOTICE"), collected);
} else if (read("NOTICE") !== collected) {
  throw new Error("NOTICE differs from the installed packages; run node build.mjs --notice and check the result");
}

const { script, style, inputs } = await bundle();
const known = new Set(licenses.map(([name]) => name));
for (const input of inputs) {
  const name = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1];
  if (name !== undefined && !known.has(name)) throw new Error(`${name} is in the page without its license`);
}
for (const [what, text] of [["script", script], ["style", style], ["NOTICE", collected]]) {
  if (/<\/script|<\/style|<!--/i.test(text)) throw new Error(`${what} would end its element in the page`);
}

// The policy allows only this script, by its hash, so injected markup cannot run.
const hash = createHash("sha256").update(script).digest("base64");
const page = fill(read("src", "page.html"), {
  CSP: `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; ` +
    "base-uri 'none'; form-action 'none'",
  STYLE: style, DATA: placeholder, NOTICE: collected, SCRIPT: script });
if (page.split(placeholder).length !== 2) throw new Error("the page must contain its placeholder exactly once");

mkdirSync(out, { recursive: true });
const target = join(out, "report.html");
writeFileSync(target + ".new", page);
renameSync(target + ".new", target);
console.log(`${target}: ${Math.round(page.length / 1024)} KiB`);
