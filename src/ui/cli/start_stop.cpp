// SPDX-License-Identifier: Apache-2.0
// stemtap start, stemtap stop: switch recording on and off in a running session.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/decimal.h"
#include "base/text.h"
#include "session/control.h"
#include "ui/cli/command_table.h"
#include "ui/cli/output.h"
#include "ui/cli/wake_flags.h"

namespace stemtap::ui {
namespace {

struct SwitchArguments {
  std::string session;
  WakeFlags wake;  // of start
  bool quiet = false;
};

// Returns the process that the command line names, or nothing if it names a session.
std::optional<std::int32_t> PidOf(const std::string& named) {
  const std::optional<std::uint64_t> pid = WholeNumber(named);
  std::error_code ignored;
  if (!pid || *pid > INT32_MAX || std::filesystem::exists(named, ignored)) return std::nullopt;
  return static_cast<std::int32_t>(*pid);
}

Result<int> Switch(const SwitchArguments& arguments, const std::string& word) {
  const std::optional<std::int32_t> pid = PidOf(arguments.session);
  Result<std::string> session = pid ? session::SessionOfProcess(*pid) : arguments.session;
  if (pid && !session.ok() && word == "start") {
    const std::string path =
        STEMTAP_TRY(session::WakeProcess(*pid, STEMTAP_TRY(arguments.wake.Variables())));
    if (arguments.quiet) return 0;
    PrintMessage(fmt::format("stemtap: recording of {}: on, session in {}\n", *pid,
                             EscapeForTerminal(path)));
    return 0;
  }
  if (!session.ok()) return session.error();
  if (!arguments.wake.empty()) {
    return Error{
        "--output and --level apply to a process that waits to be started; this one has a "
        "session",
        2};
  }
  const std::string request = pid ? fmt::format("{} {}", word, *pid) : word;
  const std::string state = STEMTAP_TRY(session::SwitchRecording(session.value(), request));
  if (arguments.quiet) return 0;
  PrintMessage(fmt::format("stemtap: recording of {}: {}\n", EscapeForTerminal(arguments.session),
                           state.substr(0, state.find(" changing"))));
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
  if (word == "start") {
    arguments->wake.AddTo(command, "of a process that waits to be started: ");
  }
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
