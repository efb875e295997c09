// SPDX-License-Identifier: Apache-2.0
#include "session/flags/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/decimal.h"
#include "base/text.h"

namespace stemtap::session {

namespace {

using Check = std::function<std::string(std::string&)>;

// Accepts decimal whole words only. CLI11's own conversion accepts -1 as 2^64 - 1, 010 as 8 and
// 2^64 as 2^64 - 1.
Check WholeIn(std::uint64_t min, std::uint64_t max) {
  return [min, max](std::string& text) {
    const auto value = WholeNumber(text);
    if (!value || *value < min || *value > max) {
      return fmt::format("expected a whole number from {} to {}, found '{}'", min, max,
                         ShownCell(text));
    }
    text = std::to_string(*value);  // CLI11 would read a leading zero as octal
    return std::string();
  };
}

// CLI11's ranges accept NaN.
Check RealIn(double min, double max) {
  return [min, max](std::string& text) {
    double value = 0.0;
    const char* const end = text.data() + text.size();
    const auto [rest, code] = std::from_chars(text.data(), end, value);
    const bool in_range = code == std::errc{} && rest == end && value >= min && value <= max;
    return in_range ? std::string()
                    : fmt::format("expected a number from {} to {}, found '{}'", min, max,
                                  ShownCell(text));
  };
}

std::string ShownPercent(double share) {
  return fmt::format("{:g}%", 100.0 * share);
}

// Returns what else the user may have meant with a number that is out of range or has two meanings:
// 5 looks like 5%, but is 500%.
std::string OtherMeaning(double share, double min, double max) {
  const double part = share / 100.0;
  if (!(part >= min && part <= max)) return {};
  const std::string as_percent =
      fmt::format("; write {} or {:g} for {}", ShownPercent(part), part, ShownPercent(part));
  return share <= max
             ? fmt::format("{}, {} for {}", as_percent, ShownPercent(share), ShownPercent(share))
             : as_percent;
}

// Accepts 0.05 and 5%, and stores 0.05. If shares above 1 are in range, they need a percent sign,
// because 2 may mean 2% or 200%.
Check ShareIn(double min, double max, const std::string& example) {
  return [=](std::string& text) {
    const std::optional<stemtap::Share> share = ParseShare(text);
    const bool is_clear = share && (share->is_percent || share->value < 1.0 || max <= 1.0);
    if (is_clear && share->value >= min && share->value <= max) {
      text = fmt::format("{}", share->value);
      return std::string();
    }
    std::string error = fmt::format("expected a share from {} to {}, such as {}, found '{}'",
                                    ShownPercent(min), ShownPercent(max), example, ShownCell(text));
    if (share) error += fmt::format(", which is {}", ShownPercent(share->value));
    if (share && !share->is_percent) error += OtherMeaning(share->value, min, max);
    return error;
  };
}

Check PercentIn(double min, double max) {
  return [check = RealIn(min, max)](std::string& text) {
    std::string number = text;
    if (number.ends_with('%')) number.pop_back();
    if (!check(number).empty()) return check(text);
    text = number;
    return std::string();
  };
}

// Returns a share in both forms, for example "0.05 or 5%": the default, if it shows the difference.
std::string ExampleOf(const std::string& fallback) {
  const std::optional<stemtap::Share> share = ParseShare(fallback);
  const double value = share && share->value > 0.0 && share->value < 1.0 ? share->value : 0.05;
  return fmt::format("{:g} or {}", value, ShownPercent(value));
}

// Sets what follows from the type of the target.
struct ApplyTarget {
  OptionSpec& option;

  void operator()(std::monostate) const {}
  void operator()(const bool*) const {}
  void operator()(const std::string* value) const {
    option.type = "TEXT";
    option.fallback = *value;
  }
  void operator()(const std::vector<std::string>*) const { option.type = "TEXT"; }
  void operator()(const ChoiceTarget& choice) const {
    option.type = "TEXT";
    option.fallback = choice.fallback;
    option.help += choice.help;
    option.OneOf(choice.names);
  }
  void operator()(const std::vector<double>*) const { option.type = "N"; }
  void operator()(const double* value) const {
    option.type = "N";
    option.fallback = fmt::format("{}", *value);
  }
  template <typename T>
  void operator()(const std::optional<T>*) const {
    SetWhole(std::numeric_limits<T>::max());
  }
  template <typename T>
  requires std::is_integral_v<T>
  void operator()(const T* value) const {
    SetWhole(static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
    option.fallback = std::to_string(*value);
  }

  void SetWhole(std::uint64_t max) const {
    option.type = "N";
    option.check = WholeIn(0, max);
  }
};

}  // namespace

void ChoiceTarget::Add(std::string_view name, std::string_view meaning,
                       std::function<void()> store) {
  names.emplace_back(name);
  if (!meaning.empty()) help += fmt::format("\n{}: {}", name, meaning);
  stores.push_back(std::move(store));
}

bool OptionSpec::is_repeated() const {
  return std::holds_alternative<std::vector<std::string>*>(target) ||
         std::holds_alternative<std::vector<double>*>(target);
}

OptionSpec& OptionSpec::Required() {
  required = true;
  fallback.clear();
  return *this;
}

OptionSpec& OptionSpec::Advanced() {
  group = OptionGroup::kAdvanced;
  return *this;
}

OptionSpec& OptionSpec::Hidden() {
  group = OptionGroup::kHidden;
  return *this;
}

OptionSpec& OptionSpec::Env(const char* name) {
  variable = name;
  return *this;
}

OptionSpec& OptionSpec::Type(const char* name) {
  type = name;
  return *this;
}

OptionSpec& OptionSpec::Delimited(const char* name) {
  delimited = true;
  return Type(name);
}

OptionSpec& OptionSpec::In(double min, double max) {
  limits = fmt::format("{} to {}", min, max);
  const bool is_real = std::holds_alternative<double*>(target) ||
                       std::holds_alternative<std::vector<double>*>(target);
  check = is_real ? RealIn(min, max)
                  : WholeIn(static_cast<std::uint64_t>(min), static_cast<std::uint64_t>(max));
  std::string value = fallback;
  if (!value.empty() && !check(value).empty()) fallback.clear();
  return *this;
}

OptionSpec& OptionSpec::Share(double min, double max) {
  In(min, max);
  limits = fmt::format("{} to {}", ShownPercent(min), ShownPercent(max));
  check = ShareIn(min, max, ExampleOf(fallback));
  return Type("SHARE");
}

OptionSpec& OptionSpec::Percent(double min, double max) {
  In(min, max);
  check = PercentIn(min, max);
  return Type("PERCENT");
}

OptionSpec& OptionSpec::OneOf(std::vector<std::string> words) {
  choices = std::move(words);
  check = [words = choices](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
    const std::string_view nearest = NearestName(word, words);
    return fmt::format("expected one of {}, found '{}'{}", fmt::join(words, ", "), ShownCell(word),
                       nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest));
  };
  return *this;
}

OptionSpec& OptionSpec::File(std::string (*map)(const std::string&)) {
  // An unset shell variable yields an empty path. It is an error, because treating it as "none"
  // would silently do something else.
  check = [map](std::string& path) {
    if (path.empty()) return std::string("is empty; expected a path");
    if (map != nullptr) path = map(path);
    return std::string();
  };
  return Type("FILE");
}

OptionSpec& OptionSpec::Directory() {
  return File().Type("DIR");
}

CommandSpec::CommandSpec(std::string command_name, std::string command_help)
    : name(std::move(command_name)), help(std::move(command_help)) {
  Add("-h,--help", {}, "print this help and exit");
}

OptionSpec& CommandSpec::Add(std::string_view option_names, OptionTarget target,
                             std::string option_help) {
  OptionSpec& option = options.emplace_back();
  for (std::size_t begin = 0; begin <= option_names.size();) {
    const std::size_t end = std::min(option_names.find(',', begin), option_names.size());
    option.names.emplace_back(option_names.substr(begin, end - begin));
    begin = end + 1;
  }
  option.target = std::move(target);
  option.help = std::move(option_help);
  std::visit(ApplyTarget{option}, option.target);
  return option;
}

bool CommandSpec::Given(std::string_view option_name) const {
  return std::any_of(order.begin(), order.end(), [&](std::size_t index) {
    const std::vector<std::string>& names = options[index].names;
    return std::find(names.begin(), names.end(), option_name) != names.end();
  });
}

namespace {

// Adds the target's value to `app`; returns nullptr for options that CLI11 handles itself.
struct AddTarget {
  CLI::App& app;
  std::string names;

  CLI::Option* operator()(std::monostate) const { return nullptr; }
  CLI::Option* operator()(bool* flag) const { return app.add_flag(names, *flag); }
  CLI::Option* operator()(const ChoiceTarget& choice) const {
    return app.add_option_function<std::string>(names, [&choice](const std::string& word) {
      const auto name = std::find(choice.names.begin(), choice.names.end(), word);
      choice.stores[static_cast<std::size_t>(name - choice.names.begin())]();
    });
  }
  template <typename T>
  CLI::Option* operator()(T* value) const {
    return app.add_option(names, *value);
  }
};

CLI::Option* AddOption(CLI::App& app, const OptionSpec& option, bool positionals) {
  CLI::Option* added =
      std::visit(AddTarget{app, fmt::format("{}", fmt::join(option.names, ","))}, option.target);
  if (added == nullptr) return nullptr;
  if (option.check) added->transform(CLI::Validator(option.check, ""));
  if (!option.variable.empty()) added->envname(option.variable);
  if (option.required) added->required();
  if (option.take_last) added->take_last();
  if (option.delimited) {
    added->delimiter(',');
    if (positionals) added->allow_extra_args(false);  // the next word is a positional
  }
  return added;
}

// Adds the options and returns which option of the table each of CLI11's is.
std::map<const CLI::Option*, std::size_t> AddOptions(CLI::App& app, const CommandSpec& command) {
  const bool positionals = std::any_of(command.options.begin(), command.options.end(),
                                       [](const OptionSpec& o) { return o.is_positional(); });
  std::map<const CLI::Option*, std::size_t> index;
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    index[AddOption(app, command.options[i], positionals)] = i;
  }
  for (const OptionSpec& option : command.options) {
    if (!option.excludes.empty()) {
      app.get_option(option.names.back())->excludes(app.get_option(option.excludes));
    }
  }
  return index;
}

// Returns where the user finds what is expected.
std::string SeeHelp(const CommandSpec& command) {
  return fmt::format(", see 'stemtap help{}{}'", command.name.empty() ? "" : " ", command.name);
}

// Returns a suggestion for `word`, which is not in the table, or `otherwise` if no name is near.
std::string Hint(const std::vector<CommandSpec>& table, const CommandSpec& command,
                 const std::string& word, const std::string& otherwise) {
  std::vector<std::string> names;
  if (word.starts_with('-')) {
    for (const OptionSpec& option : command.options) {
      if (option.names.back().starts_with("--")) names.push_back(option.names.back());
    }
  } else if (&command == &table.front()) {
    for (const CommandSpec& other : table) {
      if (!other.name.empty()) names.push_back(other.name);
    }
  }
  const std::string_view nearest = NearestName(word.substr(0, word.find('=')), names);
  return nearest.empty() ? otherwise : fmt::format(", did you mean {}?", nearest);
}

Error UsageError(std::string message) {
  return {std::move(message), 2};
}

std::string MessageOf(const CLI::ParseError& error) {
  std::string message = error.what();
  if (message == "A subcommand is required") return "a command is required";
  if (!message.ends_with(" missing")) return message;
  return message.substr(0, message.find(':')) +
         ": expected a value";  // was: 1 required TEXT missing
}

// Describes the first argument that CLI11 could not place, in typed order. A misspelled option also
// leaves its value over, so options take precedence.
Error UnplacedArgument(const std::vector<CommandSpec>& table, const CommandSpec& command,
                       const std::vector<std::string>& rest,
                       const std::vector<std::string>& arguments) {
  std::string word;
  bool is_option = false;
  bool may_be_options = true;  // no option is behind --
  for (const std::string& argument : arguments) {
    may_be_options = may_be_options && argument != "--";
    if (argument == "--") continue;
    if (std::find(rest.begin(), rest.end(), argument) == rest.end()) continue;
    is_option = may_be_options && argument.starts_with('-');
    if (word.empty() || is_option) word = argument;
    if (is_option) break;
  }
  const char* const what = is_option                    ? "unknown option"
                           : &command == &table.front() ? "unknown command"
                                                        : "unexpected argument";
  return UsageError(
      fmt::format("{} '{}'{}", what, word, Hint(table, command, word, SeeHelp(command))));
}

}  // namespace

Result<ParsedLine> ParseCommandLine(std::vector<CommandSpec>& table, int argc,
                                    const char* const* argv) {
  using Wanted = ParsedLine::Wanted;
  CLI::App app("", "stemtap");
  app.set_version_flag("-V,--version", "");
  app.require_subcommand(1);
  std::map<const CLI::App*, CommandSpec*> commands = {{&app, &table.front()}};
  std::map<const CLI::App*, std::map<const CLI::Option*, std::size_t>> options;
  for (CommandSpec& command : table) {
    if (command.name.empty()) continue;
    CLI::App* sub = app.add_subcommand(command.name);
    commands[sub] = &command;
    options[sub] = AddOptions(*sub, command);
    sub->positionals_at_end(command.ends_with_program);
  }
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const std::string first = arguments.empty() ? "" : arguments.front();
  const auto selected = [&]() -> const CLI::App& {
    return app.get_subcommands().empty() ? app : *app.get_subcommands().back();
  };
  const auto command = [&]() -> CommandSpec& { return *commands.at(&selected()); };
  try {
    app.parse(argc, argv);
    for (const CLI::Option* option : selected().parse_order()) {
      command().order.push_back(options.at(&selected()).at(option));
    }
    return ParsedLine{Wanted::kRun, &command()};
  } catch (const CLI::CallForVersion&) {
    return ParsedLine{Wanted::kVersion, &command()};
  } catch (const CLI::Success&) {
    // Do not print help for an unknown command.
    if (command().name.empty() && !first.empty() && !first.starts_with('-')) {
      return UsageError(fmt::format("unknown command '{}'{}", first,
                                    Hint(table, command(), first, SeeHelp(command()))));
    }
    return ParsedLine{Wanted::kHelp, &command()};
  } catch (const CLI::ExtrasError&) {
    return UnplacedArgument(table, command(), app.remaining(true), arguments);
  } catch (const CLI::ParseError& error) {
    // The first word may be an unknown command: CLI11 reports the missing command first.
    if (command().name.empty() && !arguments.empty()) {
      return UsageError(fmt::format("unknown {} '{}'{}",
                                    first.starts_with('-') ? "option" : "command", first,
                                    Hint(table, command(), first, SeeHelp(command()))));
    }
    return UsageError(MessageOf(error) + SeeHelp(command()));
  }
}

Status ParseOptions(CommandSpec& command, const std::string& text) {
  CLI::App app;
  app.set_help_flag();
  AddOptions(app, command);
  try {
    app.parse(text);
  } catch (const CLI::ParseError& error) {
    return UsageError(MessageOf(error));
  }
  return Success{};
}

}  // namespace stemtap::session
