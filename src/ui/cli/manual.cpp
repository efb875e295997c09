// SPDX-License-Identifier: Apache-2.0
// stemtap help, version, completion, manual: print information about the program.
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "session/flags/option_kinds.h"
#include "ui/cli/command_table.h"
#include "ui/cli/commands.h"
#include "ui/cli/output.h"

namespace stemtap::ui {

void AddHelp(CLI::App& app, int& exit_code) {
  std::vector<std::string> names = {"help"};
  for (const CommandEntry& command : CommandTable(app)) {
    if (!command.name.empty()) names.push_back(command.name);
  }
  CLI::App* command = app.add_subcommand("help", "print the help of stemtap or of a command");
  auto name = std::make_shared<std::string>();
  command->add_option("command", *name, "command to print it for")->check(session::OneOf(names));
  command->callback([&app, name, &exit_code] {
    exit_code = Print(HelpPage(name->empty() ? app : *app.get_subcommand(*name)));
  });
}

// Same as --version; hidden.
void AddVersion(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("version", "print the version")->group("");
  command->callback([&app, &exit_code] { exit_code = Print(app.version() + "\n"); });
}

void AddCompletion(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("completion", "print a script that completes command lines");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "shell to print it for")
      ->required()
      ->check(session::OneOf(std::vector<std::string>(std::begin(kShells), std::end(kShells))));
  command->callback([&app, shell, &exit_code] {
    exit_code = Print(CompletionScript(CommandTable(app), *shell));
  });
}

// Used by the build, which installs the page; hidden.
void AddManual(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("manual", "print the manual page")->group("");
  command->callback([&app, &exit_code] { exit_code = Print(ManualPage(CommandTable(app))); });
}

}  // namespace stemtap::ui
