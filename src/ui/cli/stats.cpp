// SPDX-License-Identifier: Apache-2.0
// stemtap stats: prints tables of time, launches, durations and bounds of a run.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/statistics/stats_table.h"
#include "base/text.h"
#include "ui/cli/command_table.h"
#include "ui/cli/fleet_flags.h"
#include "ui/cli/inputs.h"
#include "ui/cli/job_ranks.h"
#include "ui/cli/output.h"
#include "ui/cli/table_flags.h"

namespace stemtap::ui {
namespace {

using analysis::StatsAxis;
using analysis::StatsTable;

struct StatsArguments {
  std::vector<std::string> runs;
  StatsAxis by = StatsAxis::kKernel;
  TableFlags table;
  FleetFlags fleet;
  bool csv = false;
  bool json = false;
};

Result<StatsTable> ProfileTable(const StatsArguments& arguments, ReadProgress& progress) {
  const std::string name = RunName(arguments.runs);
  if (arguments.by == StatsAxis::kRank && arguments.runs.size() > 1) {
    const auto open = [&progress](const std::string& path) {
      return OpenRun({path}, "", progress);
    };
    return analysis::TableOfRanks(arguments.runs, open, name);
  }
  model::LaunchSelection selection;
  selection.by_range = arguments.by == StatsAxis::kRange;
  selection.by_operator = arguments.by == StatsAxis::kOperator;
  std::unique_ptr<model::ProfileReader> reader =
      STEMTAP_TRY(OpenRun(arguments.runs, "", progress, selection));
  Result<StatsTable> table = analysis::TableOfProfile(*reader, arguments.by, name);
  progress.Clear();
  Warn(reader->warnings());
  return table;
}

Result<StatsTable> MakeTable(const StatsArguments& arguments, ReadProgress& progress) {
  bool is_profile = true;
  for (const std::string& run : arguments.runs) {
    is_profile = STEMTAP_TRY(KindOfInput(run)) == RunInput::kProfile && is_profile;
  }
  if (is_profile) {
    StatsTable table = STEMTAP_TRY(ProfileTable(arguments, progress));
    STEMTAP_TRY(CheckNotEmpty(table.launches, RunName(arguments.runs)));
    return table;
  }
  if (arguments.runs.size() > 1) {
    return Error{"several runs are named; expected one session or plan, or profiles of all ranks",
                 2};
  }
  const model::FinishedSession run = STEMTAP_TRY(model::LoadFinished(arguments.runs.front()));
  return analysis::TableOfPlan(run, arguments.by, ShownPath(arguments.runs.front()));
}

// Prints the ranks of a job, which are on its server.
Result<int> JobStats(const StatsArguments& arguments) {
  if (!arguments.runs.empty() || arguments.csv) {
    return Error{"--fleet prints the ranks of the job; expected no run and no --csv", 2};
  }
  JobRanks ranks(STEMTAP_TRY(arguments.fleet.Server()), arguments.fleet.Job());
  STEMTAP_TRY(ranks.Refresh());
  return arguments.json ? PrintJson(ranks.Json()) : PrintText(ranks.Text(OutputWidth()));
}

Result<int> RunStats(const StatsArguments& arguments) {
  if (arguments.fleet.is_set()) return JobStats(arguments);
  if (arguments.runs.empty()) {
    return Error{"no run is named; expected a session, a plan or profiles, or --fleet and --job",
                 2};
  }
  ReadProgress progress;
  const StatsTable table = STEMTAP_TRY(MakeTable(arguments, progress));
  progress.Clear();
  const model::RowView view = analysis::ChooseStatsRows(table, arguments.table.Choice());
  if (arguments.json) return PrintJson(analysis::StatsJson(table, view));
  if (!arguments.csv) {
    return PrintText(analysis::StatsText(table, view, OutputWidth()));
  }
  for (const std::string& note : table.notes) {
    PrintMessage(fmt::format("stemtap: {}\n", note));
  }
  return Print(analysis::StatsCsv(table, view));
}

}  // namespace

CommandSpec StatsCommand() {
  CommandSpec command("stats", "print time, launches and durations of all kernels of a run");
  auto arguments = std::make_shared<StatsArguments>();
  command
      .Add("run", &arguments->runs,
           "session directory, plan.json, or recorded run (several files are its ranks)")
      .File(FinishedPath);
  arguments->fleet.AddTo(command);
  command.Add("--by", Choice(&arguments->by, analysis::kStatsAxisNames),
              "what a row of the table is");
  std::vector<std::string> sort_keys;
  for (const analysis::StatsSortKey& key : analysis::StatsSortKeys()) {
    sort_keys.emplace_back(key.name);
  }
  arguments->table.AddTo(command, std::move(sort_keys));
  command.Add("--csv", &arguments->csv, "print the table as CSV");
  command.Add("--json", &arguments->json, "print the table as JSON").excludes = "--csv";
  command.run = [arguments](const CommandSpec&) {
    arguments->fleet.TakeServer();
    return RunStats(*arguments);
  };
  return command;
}

}  // namespace stemtap::ui
