// SPDX-License-Identifier: Apache-2.0
// stemtap formats: lists the readable profile formats.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/importers/importers.h"
#include "formats/importers/registry.h"
#include "ui/cli/command_table.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

std::string FormatsText() {
  std::string text;
  for (const formats::ProfileFormat& format : formats::ProfileFormats()) {
    text +=
        fmt::format("{:<14} {}\n{:<14} {}\n", format.name, format.description, "", format.example);
  }
  text += "\nRecognized, but not read:\n";
  for (const formats::UnreadFormat& format : formats::UnreadFormats()) {
    text += fmt::format("{}\n{:<14} {}\n", format.name, "", format.advice);
  }
  return text;
}

std::string FormatsJson() {
  nlohmann::ordered_json formats = nlohmann::ordered_json::array();
  for (const formats::ProfileFormat& format : formats::ProfileFormats()) {
    formats.push_back(
        {{"name", format.name}, {"description", format.description}, {"example", format.example}});
  }
  nlohmann::ordered_json unread = nlohmann::ordered_json::array();
  for (const formats::UnreadFormat& format : formats::UnreadFormats()) {
    unread.push_back({{"name", format.name}, {"advice", format.advice}});
  }
  return nlohmann::ordered_json{{"formats", formats}, {"unread", unread}}.dump() + "\n";
}

}  // namespace

CommandSpec FormatsCommand() {
  CommandSpec command("formats", "list the profile formats that stemtap reads");
  auto json = std::make_shared<bool>(false);
  command.Add("--json", json.get(), "print the list as JSON");
  command.run = [json](const CommandSpec&) {
    return *json ? PrintJson(FormatsJson()) : PrintText(FormatsText());
  };
  return command;
}

}  // namespace stemtap::ui
