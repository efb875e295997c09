// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/command_table.h"

#include <algorithm>
#include <string_view>

namespace stemtap::ui {
namespace {

// CLI11 exposes allowed words and ranges only as text after the type: "TEXT:{a,b}", "UINT:0 to 9".
void SplitType(const std::string& text, OptionEntry& entry) {
  const std::size_t colon = text.find(':');
  entry.type = text.substr(0, colon);
  if (entry.type == "UINT" || entry.type == "INT" || entry.type == "FLOAT") entry.type = "N";
  if (colon == std::string::npos) return;
  const std::string rest = text.substr(colon + 1);
  if (rest.empty() || rest.front() != '{' || rest.back() != '}') {
    entry.limits = rest;
    return;
  }
  const std::string_view words = std::string_view(rest).substr(1, rest.size() - 2);
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t comma = std::min(words.find(',', at), words.size());
    entry.choices.emplace_back(words.substr(at, comma - at));
    at = comma + 1;
  }
}

OptionEntry EntryOf(const CLI::Option& option) {
  OptionEntry entry;
  entry.positional = !option.nonpositional();
  if (entry.positional) {
    entry.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  }
  entry.help = option.get_description();
  if (option.get_items_expected_max() > 0) SplitType(option.get_type_name(), entry);
  entry.fallback = option.get_default_str();
  entry.variable = option.get_envname();
  entry.group = option.get_group();
  entry.required = option.get_required();
  entry.repeated = option.get_items_expected_max() > 1;
  return entry;
}

CommandEntry EntryOf(const CLI::App& app, const std::string& name) {
  CommandEntry entry;
  entry.name = name;
  entry.help = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) entry.options.push_back(EntryOf(*option));
  }
  return entry;
}

}  // namespace

std::vector<CommandEntry> CommandTable(const CLI::App& app) {
  std::vector<CommandEntry> table = {EntryOf(app, "")};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) table.push_back(EntryOf(*command, command->get_name()));
  }
  return table;
}

}  // namespace stemtap::ui
