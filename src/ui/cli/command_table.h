// SPDX-License-Identifier: Apache-2.0
//
// What the program can do, as data: taken from the CLI11 app that reads the command line, so that the
// manual page and the completions say what --help says, which is made of it too. Hidden commands and options are left out.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace stemtap::cli {

struct OptionEntry {
  std::vector<std::string> names;  // "-o", "--output"; of a positional its one name
  std::string help;                // may have several lines
  std::string type;                // "TEXT", "N" (a number), "FILE", ...; empty: a flag
  std::string limits;              // "0 to 1024"; empty: any, or `choices`
  std::vector<std::string> choices;
  std::string fallback;  // empty: none
  std::string variable;  // of the environment, which it may come from; empty: none
  std::string group;     // heading in --help, "Options" for most
  bool positional = false;
  bool required = false;
  bool repeated = false;  // takes several values
};

struct CommandEntry {
  std::string name;  // empty: the program itself
  std::string help;
  std::vector<OptionEntry> options;
};

// The program itself first, then its commands in the order of --help.
std::vector<CommandEntry> CommandTable(const CLI::App& app);

// What --help prints, in lines of at most 80 columns, for the program or one of its commands.
std::string HelpPage(const CLI::App& app);

// The manual page, in the man macros of troff.
std::string ManualPage(const std::vector<CommandEntry>& table);

// A completion script; `shell` is one of kShells.
inline constexpr const char* kShells[] = {"bash", "zsh", "fish"};
std::string CompletionScript(const std::vector<CommandEntry>& table, const std::string& shell);

}  // namespace stemtap::cli
