// SPDX-License-Identifier: Apache-2.0
// stemtap start, stemtap stop: switch recording on and off in a running session.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/decimal.h"
#include "base/text.h"
#include "session/control.h"
#include "ui/cli/command_table.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

struct SwitchArguments {
  std::string session;
  bool quiet = false;
};

// What the command line names: a session, or one process of it.
struct Target {
  std::string session;
  std::string pid;  // empty: all processes
};

Result<Target> TargetOf(const std::string& named) {
  const std::optional<std::uint64_t> pid = WholeNumber(named);
  std::error_code ignored;
  if (!pid || *pid > INT32_MAX || std::filesystem::exists(named, ignored)) return Target{named, ""};
  return Target{STEMTAP_TRY(session::SessionOfProcess(static_cast<std::int32_t>(*pid))), named};
}

Result<int> Switch(const SwitchArguments& arguments, const std::string& word) {
  const Target target = STEMTAP_TRY(TargetOf(arguments.session));
  const std::string request = target.pid.empty() ? word : word + " " + target.pid;
  const std::string state = STEMTAP_TRY(session::SwitchRecording(target.session, request));
  if (!arguments.quiet) {
    PrintMessage(fmt::format("stemtap: recording of {}: {}\n", EscapeForTerminal(arguments.session),
                             state.substr(0, state.find(" changing"))));
  }
  return 0;
}

CommandSpec SwitchCommand(const std::string& word, const char* help) {
  CommandSpec command(word, help);
  auto arguments = std::make_shared<SwitchArguments>();
  command
      .Add("session", &arguments->session,
           "directory of the running session, or id of one of its processes")
      .Type("SESSION|PID")
      .Required();
  command.Add("-q,--quiet", &arguments->quiet, "do not print the state of the processes");
  command.run = [arguments, word](const CommandSpec&) { return Switch(*arguments, word); };
  return command;
}

}  // namespace

CommandSpec StartCommand() {
  return SwitchCommand("start", "begin to record in a running session, or in one process of it");
}

CommandSpec StopCommand() {
  return SwitchCommand("stop", "stop recording in a running session, or in one process of it");
}

}  // namespace stemtap::ui
