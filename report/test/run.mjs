// SPDX-License-Identifier: Apache-2.0
//
// Bundles test/*.test.ts into a temporary directory, because node does not read TypeScript, and runs the tests.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { patchZrender } from "../patch_zrender.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const tests = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
const out = mkdtempSync(join(tmpdir(), "stemtap-report-"));
try {
  await build({ entryPoints: tests.map((name) => join(here, name)), outdir: out, bundle: true, platform: "node",
    format: "esm", outExtension: { ".js": ".mjs" }, logLevel: "warning", plugins: [patchZrender] });
  const files = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
