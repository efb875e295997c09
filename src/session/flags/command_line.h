// SPDX-License-Identifier: Apache-2.0
//
// CommandSpec and OptionSpec describe commands and their options as data. ParseCommandLine, --help,
// the manual page and the completions all read the same table.
//
//   CommandSpec command("convert", "rewrite a profile in the canonical form");
//   command.Add("-o,--output", &arguments->output, "file to write").File().Required();
//
// CLI11 does the parsing; only the .cpp file includes it, because it takes six seconds to compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace stemtap::session {

enum class OptionGroup { kCommon, kAdvanced, kHidden };

// Word is an entry of a table of the words that an option accepts. Tables of other modules have the
// same three members: value, name, help.
template <typename T>
struct Word {
  T value;
  const char* name;
  const char* help = "";  // empty if the help text of the option describes the word
};

// Returns the name of `value` in a table of words.
template <typename Table, typename T>
std::string NameIn(const Table& table, const T& value) {
  for (const auto& [meaning, name, help] : table) {
    if (meaning == value) return name;
  }
  return {};
}

// ChoiceTarget is a target whose words stand for values of any type.
struct ChoiceTarget {
  void Add(std::string_view name, std::string_view meaning, std::function<void()> store);

  std::vector<std::string> names;
  std::string help;                           // "\nname: meaning" of each word with a meaning
  std::string fallback;                       // name of the default value; empty if it has none
  std::vector<std::function<void()>> stores;  // store the value of each word
};

// Returns a target that stores the value of a word of `table`.
template <typename T, typename Table>
ChoiceTarget Choice(T* value, const Table& table) {
  ChoiceTarget choice;
  for (const auto& [meaning, name, help] : table) {
    choice.Add(name, help, [value, stored = meaning] { *value = stored; });
  }
  choice.fallback = NameIn(table, *value);
  return choice;
}

// The same for the names of all values of an enumeration, in its order.
template <typename T, std::size_t kCount>
ChoiceTarget Choice(T* value, const char* const (&names)[kCount]) {
  std::vector<Word<T>> table;
  for (std::size_t i = 0; i < kCount; ++i) table.push_back({static_cast<T>(i), names[i]});
  return Choice(value, table);
}

// Where the parser stores a value. The parser handles options with monostate itself.
using OptionTarget =
    std::variant<std::monostate, bool*, double*, std::int32_t*, std::uint32_t*, std::uint64_t*,
                 std::optional<std::uint16_t>*, std::optional<std::uint32_t>*, std::string*,
                 std::vector<double>*, std::vector<std::string>*, ChoiceTarget>;

struct OptionSpec {
  std::vector<std::string> names;  // "-o", "--output"; a positional has a single name
  std::string help;                // may have several lines
  OptionTarget target;
  std::string type;    // "TEXT", "N" (a number), "SHARE", "FILE", ...; empty for a flag
  std::string limits;  // "0 to 1024"; empty if unlimited or if `choices` applies
  std::vector<std::string> choices;
  std::string fallback;  // default value; empty if there is none
  std::string variable;  // environment variable that can set the option; empty if there is none
  std::string excludes;  // an option that cannot be given together with this one
  OptionGroup group = OptionGroup::kCommon;
  bool required = false;
  bool delimited = false;  // several values in one word, separated by commas
  bool take_last = false;  // if given several times, the last value counts
  bool shared = false;     // several commands have it; the manual page describes it once
  // Returns what is wrong with a value, or an empty string. May normalize the value.
  std::function<std::string(std::string& value)> check;

  bool is_positional() const { return names.front()[0] != '-'; }
  bool is_repeated() const;  // takes several values

  OptionSpec& Required();  // there is no default
  OptionSpec& Advanced();
  OptionSpec& Hidden();
  OptionSpec& Env(const char* name);
  OptionSpec& Type(const char* name);
  // Several values may follow in one word, separated by commas; `name` is shown as the type.
  OptionSpec& Delimited(const char* name);
  // Limits a number. A default outside the limits means "not set" and is not shown.
  OptionSpec& In(double min, double max);
  // Like In, but for a share of something, or a relative change: 0.05 and 5% are the same.
  OptionSpec& Share(double min, double max);
  // Like In, but for a number of percent: 5 and 5% are the same.
  OptionSpec& Percent(double min, double max);
  OptionSpec& OneOf(std::vector<std::string> words);
  // A path, which must not be empty. `map` converts it, for example a directory to a file in it.
  OptionSpec& File(std::string (*map)(const std::string&) = nullptr);
  OptionSpec& Directory();
};

struct CommandSpec {
  CommandSpec(std::string command_name, std::string command_help);  // adds --help

  // `option_names` is "-o,--output" or the name of a positional. The reference is valid until the
  // next call. The current value of the target is the default. The words of a ChoiceTarget are
  // appended to the help text.
  OptionSpec& Add(std::string_view option_names, OptionTarget target, std::string option_help);
  // After parsing: whether the command line contains the option.
  bool Given(std::string_view option_name) const;

  std::string name;  // empty: the program itself
  std::string help;
  bool hidden = false;
  // The positional is another program: all words after the first one of it are its arguments.
  bool ends_with_program = false;
  std::vector<OptionSpec> options;
  std::function<Result<int>(const CommandSpec& parsed)> run;  // returns the exit code
  std::vector<std::size_t> order;  // set by the parser: indices of the given options, in order
};

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
