// SPDX-License-Identifier: Apache-2.0
//
// Puts a session into the built page like `stemtap report`:
//   node test/make_page.mjs --kind small|hostile|huge|bare|empty --out FILE
//   node test/make_page.mjs --session DIRECTORY [--profile CSV] --out FILE
// --page selects a different built page than dist/report.html. --json writes only the data.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { fromSession, kinds } from "./fixture.mjs";

const placeholder = "@STEMTAP_DATA@";

export function fillPage(page, text) {
  const parts = page.split(placeholder);
  if (parts.length !== 2) throw new Error("the page does not hold its placeholder exactly once");
  return parts[0] + gzipSync(text).toString("base64") + parts[1];
}

const { values } = parseArgs({ options: { kind: { type: "string" }, session: { type: "string" },
  profile: { type: "string" }, out: { type: "string" }, page: { type: "string" },
  json: { type: "boolean", default: false } } });
if (!values.out || (!values.session && !Object.hasOwn(kinds, values.kind ?? ""))) {
  console.error(`usage: make_page.mjs --kind ${Object.keys(kinds).join("|")} --out FILE`);
  process.exit(2);
}
const data = values.session ? fromSession(values.session, values.profile) : kinds[values.kind]();
const text = JSON.stringify(data);
if (values.json) {
  writeFileSync(values.out, text);
} else {
  const here = dirname(fileURLToPath(import.meta.url));
  const page = readFileSync(values.page ?? join(here, "..", "dist", "report.html"), "utf8");
  writeFileSync(values.out, fillPage(page, text));
}
