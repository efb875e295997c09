// SPDX-License-Identifier: Apache-2.0
// stemtap help, version, completion, manual: print information about the program.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "shm/cupti_version.h"
#include "stemtap/version.h"
#include "ui/cli/command_table.h"
#include "ui/cli/commands.h"
#include "ui/cli/output.h"

namespace stemtap::ui {

CommandTable VisibleTable(const CommandTable& table) {
  CommandTable visible = table;
  std::erase_if(visible, [](const CommandSpec& command) { return command.hidden; });
  for (CommandSpec& command : visible) {
    std::erase_if(command.options,
                  [](const OptionSpec& option) { return option.group == OptionGroup::kHidden; });
  }
  return visible;
}

int PrintVersion() {
  const std::string newest = STEMTAP_NEWEST_CUPTI;
  return Print(fmt::format(
      "stemtap {}\ncommit {}, {} build\n{}\n", kVersion, STEMTAP_COMMIT, STEMTAP_BUILD_KIND,
      newest.empty()
          ? "without the injected library: built without CUPTI headers"
          : fmt::format("CUPTI versions {} (CUDA 10.1) to {}", shm::kOldestCupti, newest)));
}

CommandSpec HelpCommand(const CommandTable& table) {
  CommandSpec command("help", "print the help of stemtap or of a command");
  std::vector<std::string> names = {"help"};
  for (const CommandSpec& other : VisibleTable(table)) {
    if (!other.name.empty()) names.push_back(other.name);
  }
  auto name = std::make_shared<std::string>();
  command.Add("command", name.get(), "command to describe").OneOf(names);
  command.run = [&table, name](const CommandSpec&) {
    const auto described = std::find_if(table.begin(), table.end(),
                                        [&](const CommandSpec& one) { return one.name == *name; });
    return Print(HelpPage(table, *described));
  };
  return command;
}

// Same as --version; hidden.
CommandSpec VersionCommand() {
  CommandSpec command("version", "print the version");
  command.hidden = true;
  command.run = [](const CommandSpec&) { return PrintVersion(); };
  return command;
}

CommandSpec CompletionCommand(const CommandTable& table) {
  CommandSpec command("completion", "print a shell completion script");
  auto shell = std::make_shared<Shell>();
  command.Add("shell", Choice(shell.get(), kShellNames), "shell that reads the script").Required();
  command.run = [&table, shell](const CommandSpec&) {
    return Print(CompletionScript(VisibleTable(table), *shell));
  };
  return command;
}

// Used by the build, which installs the page; hidden.
CommandSpec ManualCommand(const CommandTable& table) {
  CommandSpec command("manual", "print the manual page");
  command.hidden = true;
  command.run = [&table](const CommandSpec&) { return Print(ManualPage(VisibleTable(table))); };
  return command;
}

}  // namespace stemtap::ui
