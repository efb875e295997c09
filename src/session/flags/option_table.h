// SPDX-License-Identifier: Apache-2.0
//
// CommandSpec and OptionSpec describe commands and their options as data. The parser
// (command_line.h), --help, the manual page and the completions all read the same table.
//
//   CommandSpec command("convert", "rewrite a profile in the canonical form");
//   command.Add("-o,--output", &arguments->output, "file to write").File().Required();
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stemtap::session {

enum class OptionGroup { kCommon, kAdvanced, kHidden };

// Where the parser stores a value. The parser handles options with monostate itself.
using OptionTarget =
    std::variant<std::monostate, bool*, double*, std::int32_t*, std::uint32_t*, std::uint64_t*,
                 std::optional<std::uint16_t>*, std::optional<std::uint32_t>*, std::string*,
                 std::vector<double>*, std::vector<std::string>*>;

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

  OptionSpec& Required();
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
  // next call. The current value of the target is the default.
  OptionSpec& Add(std::string_view option_names, OptionTarget target, std::string option_help);
  // After parsing: whether the command line contains the option.
  bool Given(std::string_view option_name) const;

  std::string name;  // empty: the program itself
  std::string help;
  bool hidden = false;
  // The positional is another program: all words after the first one of it are its arguments.
  bool ends_with_program = false;
  std::vector<OptionSpec> options;
  std::function<int(const CommandSpec& parsed)> run;  // returns the exit code
  std::vector<std::size_t> order;  // set by the parser: indices of the given options, in order
};

}  // namespace stemtap::session
