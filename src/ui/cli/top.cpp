// SPDX-License-Identifier: Apache-2.0
// stemtap top: shows a running session, or a job, on a terminal.
#include "ui/top/top.h"

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ui/cli/command_table.h"
#include "ui/cli/fleet_flags.h"
#include "ui/cli/inputs.h"
#include "ui/cli/job_ranks.h"
#include "ui/cli/output.h"
#include "ui/cli/table_flags.h"
#include "ui/top/model.h"
#include "ui/top/session_finder.h"
#include "ui/top/text_watch.h"

namespace stemtap::ui {
namespace {

struct TopArguments {
  std::vector<std::string> sessions;
  bool once = false;
  bool json = false;
  double interval_s = 0.5;
  TableFlags table;
  FleetFlags fleet;
};

// Shows the ranks of a job, which are on its server.
Result<int> JobTop(const TopArguments& arguments, const CommandSpec& parsed) {
  const bool has_table_option =
      parsed.Given("--sort") || parsed.Given("--top") || parsed.Given("--filter");
  if (!arguments.sessions.empty() || has_table_option) {
    return Error{
        "--fleet shows the ranks of the job; expected no session, and no --sort, --top or --filter",
        2};
  }
  JobRanks ranks(STEMTAP_TRY(arguments.fleet.Server()), arguments.fleet.Job());
  STEMTAP_TRY(ranks.Refresh());
  if (arguments.json) return PrintJson(ranks.Json());
  if (arguments.once) return PrintText(ranks.Text(OutputWidth()));
  const auto refreshed = [&ranks](std::size_t width) -> Result<std::string> {
    STEMTAP_TRY(ranks.Refresh());
    return ranks.Text(width);
  };
  const std::optional<int> code = WatchText(refreshed, arguments.interval_s);
  return code ? *code : PrintText(ranks.Text(OutputWidth()));
}

Result<int> RunTop(const TopArguments& arguments, const CommandSpec& parsed) {
  if (arguments.fleet.is_set()) return JobTop(arguments, parsed);
  if (arguments.json) {
    STEMTAP_TRY(CheckWholeJson(parsed, "overview.json"));
  }
  TopOptions options;
  options.rows = arguments.table.Choice();
  options.width = OutputWidth();
  options.interval_s = arguments.interval_s;
  for (const std::string& word : arguments.sessions) {
    options.directories.push_back(STEMTAP_TRY(FindSession(word)));
  }
  if (options.directories.empty()) {
    options.directories.push_back(STEMTAP_TRY(NewestSession(Newest::kRunningFirst)));
  }
  if (arguments.once || arguments.json) {
    const std::string text =
        STEMTAP_TRY(arguments.json ? OverviewsOf(options) : SnapshotOf(options));
    return arguments.json ? PrintJson(text) : PrintText(text);
  }
  std::string snapshot;
  const int code = STEMTAP_TRY(Watch(options, snapshot));
  return snapshot.empty() ? code : PrintText(snapshot);
}

}  // namespace

CommandSpec TopCommand() {
  CommandSpec command("top", "watch a session, or the ranks of a job, while it runs");
  auto arguments = std::make_shared<TopArguments>();
  command
      .Add("session", &arguments->sessions,
           "session directory, or the pid of its collector or of a traced program; several are "
           "shown as one (default: your newest session below the current directory, a running one "
           "first)")
      .File(SessionPath);
  arguments->fleet.AddTo(command);
  command.Add("--interval", &arguments->interval_s, "seconds between two updates").In(0.1, 3600.0);
  command.Add("--once", &arguments->once,
              "print the current state and exit; the default without a terminal");
  command.Add("--json", &arguments->json,
              "print the session's overview.json, or the ranks of the job as JSON, and exit");
  arguments->table.AddTo(command, {std::begin(kOrderNames), std::end(kOrderNames)});
  command.run = [arguments](const CommandSpec& parsed) {
    arguments->fleet.TakeServer();
    return RunTop(*arguments, parsed);
  };
  return command;
}

}  // namespace stemtap::ui
