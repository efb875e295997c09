// SPDX-License-Identifier: Apache-2.0
//
// One function per command: returns its name, its options, and a function that runs it and returns
// the exit code or an error, which main prints. Exit codes: 0 success, 1 input or machine failure,
// 2 usage error; `run` has additional codes (docs/formats/README.md).
#pragma once

#include "ui/cli/command_table.h"

namespace stemtap::ui {

CommandSpec RunCommand();
CommandSpec ReplayCommand();
CommandSpec PlanCommand();
CommandSpec EvaluateCommand();
CommandSpec ConvertCommand();
CommandSpec ExportCommand();
CommandSpec ExtrapolateCommand();
CommandSpec AlignCommand();
CommandSpec StatsCommand();
CommandSpec DiffCommand();
CommandSpec ReportCommand();
CommandSpec MergeCommand();
CommandSpec FormatsCommand();
CommandSpec GenerateCommand();
CommandSpec DemoCommand();
CommandSpec TopCommand();

// These print information about the commands in `table`, which must outlive them. HelpCommand
// accepts the commands that the table contains when it is called.
CommandSpec CompletionCommand(const CommandTable& table);
CommandSpec ManualCommand(const CommandTable& table);
CommandSpec VersionCommand();
CommandSpec HelpCommand(const CommandTable& table);

// Prints "stemtap <version>". Returns the exit code.
int PrintVersion();

}  // namespace stemtap::ui
