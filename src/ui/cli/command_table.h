// SPDX-License-Identifier: Apache-2.0
//
// CommandTable describes the program's commands and options as data. It is built from the CLI11 app
// that parses the command line, so --help, the manual page and the completion scripts agree. Hidden
// commands and options are omitted.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace stemtap::ui {

struct OptionEntry {
  std::vector<std::string> names;  // "-o", "--output"; a positional has a single name
  std::string help;                // may have several lines
  std::string type;                // "TEXT", "N" (a number), "FILE", ...; empty for a flag
  std::string limits;              // "0 to 1024"; empty if unlimited or if `choices` applies
  std::vector<std::string> choices;
  std::string fallback;  // default value; empty if there is none
  std::string variable;  // environment variable that can set the option; empty if there is none
  std::string group;     // heading in --help; usually "Options"
  bool positional = false;
  bool required = false;
  bool repeated = false;  // takes several values
};

struct CommandEntry {
  std::string name;  // empty: the program itself
  std::string help;
  std::vector<OptionEntry> options;
};

// Returns the program itself first, then its commands in --help order.
std::vector<CommandEntry> CommandTable(const CLI::App& app);

// Returns the --help text of the program or of one command, in lines of at most 80 columns.
std::string HelpPage(const CLI::App& app);

// Returns the manual page in troff man macros.
std::string ManualPage(const std::vector<CommandEntry>& table);

// Returns a completion script; `shell` is one of kShells.
inline constexpr const char* kShells[] = {"bash", "zsh", "fish"};
std::string CompletionScript(const std::vector<CommandEntry>& table, const std::string& shell);

}  // namespace stemtap::ui
