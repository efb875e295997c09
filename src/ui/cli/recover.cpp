// SPDX-License-Identifier: Apache-2.0
// stemtap recover: completes the session of a collector that was killed.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "session/checkpoint.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {
namespace {

struct RecoverArguments {
  std::string session;
  bool quiet = false;
};

Result<int> RunRecover(const RecoverArguments& arguments) {
  const session::Recovered recovered = STEMTAP_TRY(session::Recover(arguments.session));
  if (arguments.quiet) return 0;
  PrintMessage(fmt::format(
      "stemtap: recovered {}{}; {} recorded afterwards, or shortly before, are not included\n",
      Plural(recovered.launches, "launch", "launches"),
      recovered.is_from_rings ? " that were left in rings" : "",
      Plural(recovered.missing, "launch", "launches")));
  PrintNextReport(arguments.session);
  return 0;
}

}  // namespace

CommandSpec RecoverCommand() {
  CommandSpec command("recover", "complete the session of a collector that was killed");
  auto arguments = std::make_shared<RecoverArguments>();
  command.Add("session", &arguments->session, "directory of the session")
      .File(SessionPath)
      .Required();
  command.Add("-q,--quiet", &arguments->quiet,
              "print neither what was recovered nor the next command");
  command.run = [arguments](const CommandSpec&) { return RunRecover(*arguments); };
  return command;
}

}  // namespace stemtap::ui
