// SPDX-License-Identifier: Apache-2.0
//
// The table of commands, and the texts that are generated from it: --help, the manual page and the
// completion scripts. A table contains the program itself first, then its commands in --help order.
//
// One function per command returns its name, its options, and a function that runs it and returns
// the exit code or an error, which main prints. Exit codes: 0 success, 1 input or machine failure,
// 2 usage error; `run` has additional codes (docs/formats/README.md).
#pragma once

#include <string>
#include <vector>

#include "session/flags/command_line.h"

namespace stemtap::ui {

using session::Choice;
using session::CommandSpec;
using session::OptionGroup;
using session::OptionSpec;
using session::Word;
using CommandTable = std::vector<CommandSpec>;

// Returns the --help text of a command of the table, in lines of at most 80 columns.
std::string HelpPage(const CommandTable& table, const CommandSpec& command);

// Returns the manual page in troff man macros. `visible` has no hidden commands and options.
std::string ManualPage(const CommandTable& visible);

// Shells for which there are completion scripts.
enum class Shell { kBash, kZsh, kFish };
inline constexpr const char* kShellNames[] = {"bash", "zsh", "fish"};
std::string CompletionScript(const CommandTable& visible, Shell shell);

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
CommandSpec SnapshotCommand();
CommandSpec StartCommand();
CommandSpec StopCommand();
CommandSpec RecoverCommand();
CommandSpec AttachCommand();

}  // namespace stemtap::ui
