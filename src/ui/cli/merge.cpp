// SPDX-License-Identifier: Apache-2.0
// stemtap merge: merges the sessions of several machines into one.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "session/merge/merge_sessions.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {
namespace {

struct MergeArguments {
  std::vector<std::string> sessions;
  std::string output;
  bool force = false;
  bool json = false;
  bool quiet = false;
};

Result<int> RunMerge(const MergeArguments& arguments) {
  const session::MergeOutcome merged = STEMTAP_TRY(session::MergeSessions(
      arguments.sessions, arguments.output, session::PlaceOf(true, arguments.force)));
  Warn(merged.warnings);
  const model::Plan& plan = merged.plan;
  if (!arguments.quiet) {
    PrintMessage(fmt::format("stemtap: {} in {}\n", Plural(plan.sessions.size(), "session"),
                             EscapeForTerminal(arguments.output)));
    PrintNextReport(arguments.output);
  }
  return arguments.json ? PrintJson(TotalsJson(plan)) : PrintText(merged.summary);
}

}  // namespace

CommandSpec MergeCommand() {
  CommandSpec command("merge", "merge the sessions of several machines into one");
  auto arguments = std::make_shared<MergeArguments>();
  command
      .Add("session", &arguments->sessions,
           "session directories, in the order of their ranks; merged sessions are accepted")
      .File(FinishedPath)
      .Required();
  command.Add("-o,--output", &arguments->output, "session directory to write")
      .Directory()
      .Required();
  AddForce(command, &arguments->force);
  command.Add("--json", &arguments->json, "print the plan's totals as JSON");
  command.Add("-q,--quiet", &arguments->quiet,
              "print neither the location of the session nor the next command");
  command.run = [arguments](const CommandSpec&) { return RunMerge(*arguments); };
  return command;
}

}  // namespace stemtap::ui
