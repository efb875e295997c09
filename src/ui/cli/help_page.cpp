// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ui/cli/command_table.h"

namespace stemtap::ui {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 26;  // start of the descriptions

// Appends `text`, wrapped and indented to `column`. The first line continues the last line of
// `out`.
void AppendWrapped(std::string& out, std::string_view text, std::size_t column) {
  std::size_t at = column;
  bool line_start = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line_start && at + 1 + word.size() > kWidth) {
      out += '\n' + std::string(column, ' ');
      at = column;
      line_start = true;
    }
    if (!line_start) out += ' ';
    at += word.size() + (line_start ? 0 : 1);
    out += word;
    line_start = false;
  }
  out += '\n';
}

// "-o,--output FILE"
std::string Heading(const OptionEntry& option) {
  std::string heading = "  ";
  for (const std::string& name : option.names)
    heading += (name == option.names[0] ? "" : ",") + name;
  if (option.positional || option.type.empty()) return heading + (option.repeated ? " ..." : "");
  const std::string words = fmt::format(" {}", fmt::join(option.choices, "|"));
  const bool fits = heading.size() + words.size() <= kWidth;
  if (option.choices.empty()) {
    heading += " " + option.type;
  } else {
    heading += fits ? words : " WORD";  // the description lists them
  }
  return heading + (option.repeated ? " ..." : "");
}

// Returns "(0 to 1024, default: 0)", or an empty string if there are no facts.
std::string Facts(const OptionEntry& option) {
  std::string facts;
  const auto add = [&facts](const std::string& fact) {
    facts += (facts.empty() ? "" : ", ") + fact;
  };
  if (!option.limits.empty()) add(option.limits);
  if (!option.fallback.empty()) add("default: " + option.fallback);
  if (!option.variable.empty()) add("or from " + option.variable);
  if (option.required && !option.positional) add("required");
  return facts.empty() ? facts : "(" + facts + ")";
}

std::string Described(const OptionEntry& option) {
  std::string out = Heading(option);
  out += out.size() + 2 > kColumn ? '\n' + std::string(kColumn, ' ')
                                  : std::string(kColumn - out.size(), ' ');
  // The first line, then a list of the option's words and their meanings.
  const std::size_t first = std::min(option.help.find('\n'), option.help.size());
  const std::string facts = Facts(option);
  std::string head = option.help.substr(0, first);
  if (option.positional && !option.choices.empty() && first == option.help.size()) {
    head += fmt::format(": {}", fmt::join(option.choices, ", "));
  }
  const bool colon = head.ends_with(':') && !facts.empty();
  if (colon) head.pop_back();
  if (!facts.empty()) head += (head.empty() ? "" : " ") + facts;
  AppendWrapped(out, head + (colon ? ":" : ""), kColumn);
  for (std::size_t at = first; at < option.help.size();) {
    const std::size_t end = std::min(option.help.find('\n', at + 1), option.help.size());
    out += std::string(kColumn, ' ');
    AppendWrapped(out, std::string_view(option.help).substr(at + 1, end - at - 1), kColumn + 2);
    at = end;
  }
  return out;
}

std::string Sections(const std::vector<OptionEntry>& options) {
  std::string out;
  std::vector<std::string> groups;
  for (const OptionEntry& option : options) {
    const std::string group = option.positional ? "Arguments" : option.group;
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group == "Arguments"; });
  for (const std::string& group : groups) {
    out += fmt::format("\n{}:\n", group);
    for (const OptionEntry& option : options) {
      if ((option.positional ? "Arguments" : option.group) == group) out += Described(option);
    }
  }
  return out;
}

}  // namespace

std::string HelpPage(const CLI::App& app) {
  const std::vector<CommandEntry> table = CommandTable(app);
  const std::string name = app.get_parent() == nullptr ? "stemtap" : "stemtap " + app.get_name();
  const CommandEntry& entry = table.front();
  std::string out = fmt::format("{}\n\nUsage: {} ", entry.help, name);
  out += table.size() > 1 ? "COMMAND [options]" : "[options]";
  for (const OptionEntry& option : entry.options) {
    if (!option.positional) continue;
    const std::string one = option.names[0] + (option.repeated ? "..." : "");
    out += option.required ? " " + one : " [" + one + "]";
  }
  out += '\n' + Sections(entry.options);
  if (table.size() > 1) out += "\nCommands:\n";
  for (std::size_t i = 1; i < table.size(); ++i) {
    out += fmt::format("  {:<{}}", table[i].name, 14);
    AppendWrapped(out, table[i].help, 16);
  }
  return out;
}

}  // namespace stemtap::ui
