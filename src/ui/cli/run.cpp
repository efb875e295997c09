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

// Rejects our options after the program's name: they may be meant for the program.
Status CheckOrder(const CommandSpec& parsed) {
  bool program = false;
  for (const std::size_t index : parsed.order) {
    const OptionSpec& option = parsed.options[index];
    program = program || option.is_positional();
    if (program && !option.is_positional()) {
      return Error{
          fmt::format(
              "{} follows the program; expected stemtap run [options] -- PROGRAM [ARGUMENTS]",
              option.names.back()),
          2};
    }
  }
  return Success{};
}

int Run(const RunArguments& arguments) {
  if (arguments.command.empty() == (arguments.attach == 0)) {
    return Fail({"run: no program; expected stemtap run [options] -- PROGRAM [ARGUMENTS]", 2});
  }
  // With --attach, the options come from the library's environment and are not checked.
  const Status sound = arguments.attach == 0 ? arguments.live.Check() : Success{};
  if (!sound.ok()) return Fail(sound.error());
  session::LiveOptions options = arguments.live.Options();
  options.command = arguments.command;
  options.attach_pid = arguments.attach;
  options.default_folder = options.folder.empty();
  if (options.default_folder) {
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
  command.Add("program", &arguments->command, "the program and its arguments, after --");
  command.run = [arguments](const CommandSpec& parsed) {
    const Status order = CheckOrder(parsed);
    return order.ok() ? Run(*arguments) : Fail(order.error());
  };
  return command;
}

}  // namespace stemtap::ui
