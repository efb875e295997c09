// SPDX-License-Identifier: Apache-2.0
//
// Prints the commands of reports as JSON, one object per file: the commands, and whether they run in the directory that
// contains the session or plan ("beside"), or after the plan was saved ("saved", with the plan).
//
//   node page_commands.mjs REPORT.html...

import { readFileSync } from "node:fs";
import { argv } from "node:process";
import { consumersOf, counterCommands, exportCommand, extrapolateCommand } from "../../../report/src/commands";
import { makeModel } from "../../../report/src/model";
import { parse, unpack } from "../../../report/src/payload";

async function commandsOf(file: string) {
  const packed = readFileSync(file, "utf8").match(/id="stemtap-data">([^<]*)</)![1]!;
  const text = await unpack(packed);
  const data = parse(text);
  const model = makeModel(data);
  const commands = model.samples.length === 0 ? [] : [counterCommands(model).commands,
    ...consumersOf(model).flatMap((consumer) => [exportCommand(model, consumer), extrapolateCommand(model, consumer)])];
  const beside = model.planFile === model.folder || model.planFile.startsWith(`${model.folder}/`);
  return { commands: commands.filter((command) => command !== ""), plan: beside ? null : data.plan };
}

const all = [];
for (const file of argv.slice(2)) all.push(await commandsOf(file));
console.log(JSON.stringify(all));
