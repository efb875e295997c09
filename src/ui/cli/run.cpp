// SPDX-License-Identifier: Apache-2.0
// stemtap run: records and samples a live program.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ui/cli/commands.h"
#include "ui/cli/live_flags.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

struct RunArguments {
  LiveFlags live;
  std::vector<std::string> command;
  std::int32_t attach = 0;
};

Result<int> Run(const RunArguments& arguments) {
  if (arguments.command.empty() == (arguments.attach == 0)) {
    return Error{"run: no program; expected stemtap run [options] -- PROGRAM [ARGUMENTS]", 2};
  }
  // With --attach, the options come from the library's environment and are not checked.
  STEMTAP_TRY(arguments.attach == 0 ? arguments.live.Check() : Success{});
  session::LiveOptions options = arguments.live.Options();
  options.command = arguments.command;
  options.attach_pid = arguments.attach;
  if (options.folder.empty()) {
    options.folder = DefaultDirectory(
        arguments.command.empty()
            ? "session"
            : std::filesystem::path(arguments.command.front()).filename().string());
  }
  return RunAndReport(options, arguments.live.require_kernels());
}

}  // namespace

CommandSpec RunCommand() {
  CommandSpec command("run", "run a program and sample its kernels live");
  auto arguments = std::make_shared<RunArguments>();
  arguments->live.AddTo(command);
  // For the injected library, which starts a collector if 'stemtap run' did not.
  command.Add("--attach", &arguments->attach, "").Hidden();
  command.Add("program", &arguments->command,
              "the program and its arguments; all words after the program belong to it");
  command.ends_with_program = true;
  command.run = [arguments](const CommandSpec&) { return Run(*arguments); };
  return command;
}

}  // namespace stemtap::ui
