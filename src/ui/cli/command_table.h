// SPDX-License-Identifier: Apache-2.0
//
// Texts that are generated from the table of commands: --help, the manual page and the completion
// scripts. A table contains the program itself first, then its commands in --help order.
#pragma once

#include <string>
#include <vector>

#include "session/flags/option_table.h"

namespace stemtap::ui {

using session::Choice;
using session::CommandSpec;
using session::OptionGroup;
using session::OptionSpec;
using session::Word;
using CommandTable = std::vector<CommandSpec>;

// Returns the table without hidden commands and options.
CommandTable VisibleTable(const CommandTable& table);

// Returns the --help text of a command of the table, in lines of at most 80 columns.
std::string HelpPage(const CommandTable& table, const CommandSpec& command);

// Returns the manual page in troff man macros.
std::string ManualPage(const CommandTable& visible);

// Shells for which there are completion scripts.
enum class Shell { kBash, kZsh, kFish };
inline constexpr const char* kShellNames[] = {"bash", "zsh", "fish"};
std::string CompletionScript(const CommandTable& visible, Shell shell);

}  // namespace stemtap::ui
