// SPDX-License-Identifier: Apache-2.0
//
// Replaces Nsight Compute for the commands of the page. A run writes the launches that it would profile, and --import
// prints them as a raw page. The program is `play [DEVICE]`. It has the launches of the CSV file that PROFILE names, on this
// device or on all devices.

import { readFileSync, writeFileSync } from "node:fs";
import { argv, env, exit, stdout } from "node:process";

const options = new Map();
const program = [];
for (let at = 2; at < argv.length; ++at) {
  if (program.length > 0 || !argv[at].startsWith("-")) program.push(argv[at]);
  else options.set(argv[at], ["--csv", "-f"].includes(argv[at]) ? "" : argv[++at]);
}

const launches = readFileSync(env.PROFILE, "utf8").trim().split("\n").slice(1).map((line) => {
  const [, , , device, ...others] = line.split(",");
  return { device, name: others.slice(7).join(",").replaceAll('"', "") };
});

// Returns the launches of the process that the filter selects, by their position in the profile.
function selected() {
  const own = launches.map((launch, at) => ({ ...launch, at })).filter(({ device }) => (program[1] ?? "") === "" || device === program[1]);
  if (options.has("--launch-skip")) {
    const first = Number(options.get("--launch-skip"));
    return own.slice(first, first + Number(options.get("--launch-count")));
  }
  const [, name, occurrences] = options.get("--kernel-id").match(/^::regex:(.*):(.*)$/s);
  return own.filter((launch) => new RegExp(name).test(launch.name)).filter((_, i) => new RegExp(occurrences).test(String(i + 1)));
}

if (options.has("--import")) {
  const columns = ["ID", "Kernel Name", "Block Size", "Grid Size", "Device", "smsp__inst_executed.sum"];
  const rows = JSON.parse(readFileSync(options.get("--import"), "utf8"))
    .map(({ device, name, at }, id) => [id, name, "(128, 1, 1)", "(8, 1, 1)", device, 1000 + at]);
  for (const row of [columns, ["", "", "", "", "", "inst"], ...rows]) stdout.write(`${row.map((cell) => `"${cell}"`).join(",")}\n`);
} else if (program[0] === "play" && selected().length > 0) {
  writeFileSync(`${options.get("-o")}.ncu-rep`, JSON.stringify(selected()));
} else {
  exit(1);
}
