// SPDX-License-Identifier: Apache-2.0
//
// ParseCommandLine reads a command line by a table of commands. CLI11 does the work; only the .cpp
// file includes it, because it takes six seconds to compile.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "session/flags/option_table.h"

namespace stemtap::session {

struct ParsedLine {
  enum class Wanted { kRun, kHelp, kVersion };
  Wanted wanted = Wanted::kRun;
  const CommandSpec* command = nullptr;  // front() of the table if no command is selected
};

// Stores the values in the targets of the options. `table` contains the program itself, then its
// commands. Returns a usage error that names the word and, if there is a similar one, a suggestion.
Result<ParsedLine> ParseCommandLine(std::vector<CommandSpec>& table, int argc,
                                    const char* const* argv);

// Parses options from one string, split like a shell command.
Status ParseOptions(CommandSpec& command, const std::string& text);

}  // namespace stemtap::session
