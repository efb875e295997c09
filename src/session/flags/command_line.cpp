// SPDX-License-Identifier: Apache-2.0
#include "session/flags/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"

namespace stemtap::session {
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
