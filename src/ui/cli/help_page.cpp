// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "base/wrap.h"
#include "ui/cli/command_table.h"

namespace stemtap::ui {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 26;  // start of the descriptions

// Appends `text`, indented to `column`.
void Append(std::string& out, std::string_view text, std::size_t column) {
  AppendWrapped(out, text, column, kWidth);
}

// "-o, --output FILE"
std::string Heading(const OptionSpec& option) {
  std::string heading = fmt::format("  {}", fmt::join(option.names, ", "));
  if (option.is_positional() || option.type.empty())
    return heading + (option.is_repeated() ? " ..." : "");
  const std::string words = fmt::format(" {}", fmt::join(option.choices, "|"));
  const bool fits = heading.size() + words.size() <= kWidth;
  if (option.choices.empty()) {
    heading += " " + option.type;
  } else {
    heading += fits ? words : " WORD";  // the description lists them
  }
  return heading + (option.is_repeated() ? " ..." : "");
}

// Returns "(0 to 1024, default: 0)", or an empty string if there are no facts.
std::string Facts(const OptionSpec& option) {
  std::string facts;
  const auto add = [&facts](const std::string& fact) {
    facts += (facts.empty() ? "" : ", ") + fact;
  };
  if (!option.limits.empty()) add(option.limits);
  if (!option.fallback.empty()) add("default: " + option.fallback);
  if (!option.variable.empty()) add("or from " + option.variable);
  if (option.required && !option.is_positional()) add("required");
  return facts.empty() ? facts : "(" + facts + ")";
}

std::string Described(const OptionSpec& option) {
  std::string out = Heading(option);
  out += out.size() + 2 > kColumn ? '\n' + std::string(kColumn, ' ')
                                  : std::string(kColumn - out.size(), ' ');
  // The first line, then a list of the option's words and their meanings.
  const std::size_t first = std::min(option.help.find('\n'), option.help.size());
  const std::string facts = Facts(option);
  std::string head = option.help.substr(0, first);
  if (option.is_positional() && !option.choices.empty() && first == option.help.size()) {
    head += fmt::format(": {}", fmt::join(option.choices, ", "));
  }
  const bool colon = head.ends_with(':') && !facts.empty();
  if (colon) head.pop_back();
  if (!facts.empty()) head += (head.empty() ? "" : " ") + facts;
  Append(out, head + (colon ? ":" : ""), kColumn);
  for (std::size_t at = first; at < option.help.size();) {
    const std::size_t end = std::min(option.help.find('\n', at + 1), option.help.size());
    out += std::string(kColumn, ' ');
    Append(out, std::string_view(option.help).substr(at + 1, end - at - 1), kColumn + 2);
    at = end;
  }
  return out;
}

std::string Sections(const std::vector<OptionSpec>& options) {
  std::string arguments;
  std::string common;
  std::string advanced;
  for (const OptionSpec& option : options) {
    if (option.group == OptionGroup::kHidden) continue;
    std::string& section = option.is_positional()                   ? arguments
                           : option.group == OptionGroup::kAdvanced ? advanced
                                                                    : common;
    section += Described(option);
  }
  std::string out;
  if (!arguments.empty()) out += "\nArguments:\n" + arguments;
  out += (advanced.empty() ? "\nOptions:\n" : "\nCommon options:\n") + common;
  if (!advanced.empty()) out += "\nAdvanced options:\n" + advanced;
  return out;
}

std::string CommandList(const CommandTable& table) {
  std::string out = "\nCommands:\n";
  for (const CommandSpec& command : table) {
    if (command.name.empty() || command.hidden) continue;
    out += fmt::format("  {:<{}}", command.name, 14);
    Append(out, command.help, 16);
  }
  return out;
}

}  // namespace

std::string HelpPage(const CommandTable& table, const CommandSpec& command) {
  if (command.name.empty()) {
    return fmt::format("{}\n\nUsage: stemtap COMMAND [options]\n{}{}", command.help,
                       CommandList(table), Sections(command.options));
  }
  std::string out = command.help;
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  out += fmt::format(".\n\nUsage: stemtap {} [options]", command.name);
  for (const OptionSpec& option : command.options) {
    if (!option.is_positional()) continue;
    const std::string one = option.names[0] + (option.is_repeated() ? "..." : "");
    out += option.required ? " " + one : " [" + one + "]";
  }
  return out + '\n' + Sections(command.options);
}

}  // namespace stemtap::ui
