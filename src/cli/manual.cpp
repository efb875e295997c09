// SPDX-License-Identifier: Apache-2.0
// stemtap completion, stemtap manual: what a shell and man want to know of the program.
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/option_kinds.h"
#include "cli/output.h"

namespace stemtap::cli {

void AddCompletion(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("completion", "print a script that completes command lines");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "shell to print it for")
      ->required()
      ->check(OneOf(std::vector<std::string>(std::begin(kShells), std::end(kShells))));
  command->callback([&app, shell, &exit_code] {
    exit_code = Print(CompletionScript(CommandTable(app), *shell));
  });
}

// For the build, which installs the page; hidden.
void AddManual(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("manual", "print the manual page")->group("");
  command->callback([&app, &exit_code] { exit_code = Print(ManualPage(CommandTable(app))); });
}

}  // namespace stemtap::cli
