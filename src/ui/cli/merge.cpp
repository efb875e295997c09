// SPDX-License-Identifier: Apache-2.0
// stemtap merge: merges the sessions of several machines into one.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "session/merge/merge_sessions.h"
#include "ui/cli/command_table.h"
#include "ui/cli/fleet_flags.h"
#include "ui/cli/inputs.h"
#include "ui/cli/job_merge.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {
namespace {

struct MergeArguments {
  std::vector<std::string> sessions;
  std::string output;
  FleetFlags fleet;
  bool force = false;
  bool json = false;
  bool quiet = false;
};

Result<session::MergeOutcome> Merge(const MergeArguments& arguments) {
  const session::SessionPlace place = session::PlaceOf(true, arguments.force);
  if (!arguments.fleet.is_set()) {
    return session::MergeSessions(arguments.sessions, arguments.output, place);
  }
  if (!arguments.sessions.empty()) {
    return Error{"--fleet merges the sessions of the job; expected no session directories", 2};
  }
  return MergeJob(STEMTAP_TRY(arguments.fleet.Server()), arguments.fleet.Job(), arguments.output,
                  place);
}

Result<int> RunMerge(const MergeArguments& arguments) {
  if (!arguments.fleet.is_set() && arguments.sessions.empty()) {
    return Error{"no session is named; expected session directories, or --fleet and --job", 2};
  }
  const session::MergeOutcome merged = STEMTAP_TRY(Merge(arguments));
  Warn(merged.warnings);
  const model::Plan& plan = merged.plan;
  if (!arguments.quiet) {
    PrintMessage(fmt::format("stemtap: {} in {}\n", Plural(plan.sessions.size(), "session"),
                             EscapeForTerminal(arguments.output)));
    PrintNextReport(arguments.output);
  }
  if (!arguments.json) return PrintText(merged.summary);
  Warn(merged.job_warnings);
  return PrintJson(TotalsJson(plan));
}

}  // namespace

CommandSpec MergeCommand() {
  CommandSpec command("merge", "merge the sessions of several machines into one");
  auto arguments = std::make_shared<MergeArguments>();
  command
      .Add("session", &arguments->sessions,
           "session directories, in the order of their ranks; merged sessions are accepted")
      .File(FinishedPath);
  arguments->fleet.AddTo(command);
  command.Add("-o,--output", &arguments->output, "session directory to write")
      .Directory()
      .Required();
  AddForce(command, &arguments->force);
  command.Add("--json", &arguments->json, "print the plan's totals as JSON");
  command.Add("-q,--quiet", &arguments->quiet,
              "print neither the location of the session nor the next command");
  command.run = [arguments](const CommandSpec&) {
    arguments->fleet.TakeServer();
    return RunMerge(*arguments);
  };
  return command;
}

}  // namespace stemtap::ui
