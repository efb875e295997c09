// SPDX-License-Identifier: Apache-2.0
// stemtap extrapolate: estimates totals of the whole run from a simulator's or profiler's results
// on the samples.
#include "analysis/extrapolation/extrapolate.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/extrapolation/match.h"
#include "analysis/extrapolation/report.h"
#include "base/quoting.h"
#include "base/text.h"
#include "formats/results/kernel_results.h"
#include "model/plan_reader.h"
#include "shm/record.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

struct ExtrapolateArguments {
  std::string plan;
  std::vector<std::string> results;
  formats::ResultsOptions reading;
  analysis::MatchOptions matching;
  analysis::ExtrapolateOptions options;
  std::string ids;
  std::vector<std::string> ratios;
  std::vector<std::string> sums;
  std::vector<std::string> means;
  std::string csv;
  bool json = false;
};

constexpr Word<std::optional<formats::ResultsSource>> kSources[] = {
    {std::nullopt, "auto"},
    {formats::ResultsSource::kAccelsim, NameOf(formats::ResultsSource::kAccelsim)},
    {formats::ResultsSource::kMacsim, NameOf(formats::ResultsSource::kMacsim)},
    {formats::ResultsSource::kNcu, NameOf(formats::ResultsSource::kNcu)},
    {formats::ResultsSource::kCsv, NameOf(formats::ResultsSource::kCsv)}};
constexpr Word<analysis::GroupBy> kGroups[] = {
    {analysis::GroupBy::kKernel, NameOf(analysis::GroupBy::kKernel)},
    {analysis::GroupBy::kRange, NameOf(analysis::GroupBy::kRange)}};

// Parses "name=numerator/denominator". Splits at the last slash, because metric names may contain
// slashes.
Result<formats::ResultRatio> ParseRatio(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t slash = text.rfind('/');
  if (equals == std::string::npos || slash == std::string::npos || equals == 0 ||
      slash <= equals + 1 || slash + 1 == text.size()) {
    return Error{fmt::format("--ratio is '{}'; expected NAME=NUMERATOR/DENOMINATOR", text), 2};
  }
  return formats::ResultRatio{text.substr(0, equals), text.substr(equals + 1, slash - equals - 1),
                              text.substr(slash + 1)};
}

Status SetKind(formats::KernelResults& results, const std::vector<std::string>& names,
               formats::MetricKind kind, const char* option) {
  for (const std::string& name : names) {
    bool found = false;
    for (formats::ResultMetric& metric : results.metrics) {
      if (metric.name != name) continue;
      metric.kind = kind;
      found = true;
    }
    if (!found) return Error{fmt::format("{}: the results have no metric '{}'", option, name), 2};
  }
  return Success{};
}

// Checks that --csv names a file that is not an input.
Status CheckCsv(const ExtrapolateArguments& arguments) {
  if (arguments.csv == "-") {
    return Error{"--csv: the report goes to standard output; expected a file", 2};
  }
  std::vector<std::string> inputs = arguments.results;
  inputs.insert(inputs.end(), {arguments.plan, arguments.ids});
  return CheckOutputs({arguments.csv}, inputs);
}

// Suggests to add samples to the plan at `path`, if its run can be read again.
void PrintNextTopUp(const std::string& path, const model::Plan& plan) {
  std::string profiles;
  for (const std::string& profile : RunPaths(plan.source)) {
    if (!IsFile(profile)) return;
    profiles += " " + ShellPath(profile);
  }
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string more = name.substr(0, name.find('.')) + "-more.json";
  PrintNextFor(path, "stemtap plan" + profiles + " --top-up", "-o " + ShellPath(more));
}

Result<int> Deliver(const ExtrapolateArguments& arguments,
                    const analysis::ExtrapolationReport& report) {
  if (!arguments.csv.empty()) {
    STEMTAP_TRY(WriteOutput(arguments.csv, analysis::ReportCsv(report)));
  }
  if (arguments.json) return PrintJson(analysis::ReportJson(report));
  const int printed = PrintText(analysis::ReportText(report));
  if (analysis::NextStepOf(report).tops_up) PrintNextTopUp(arguments.plan, report.plan);
  return printed;
}

Result<int> RunExtrapolate(const ExtrapolateArguments& arguments) {
  if (arguments.plan.empty()) {
    return Error{"extrapolate: no plan; expected stemtap extrapolate PLAN --results FILE", 2};
  }
  analysis::ExtrapolateOptions options = arguments.options;
  for (const std::string& text : arguments.ratios) {
    options.ratios.push_back(STEMTAP_TRY(ParseRatio(text)));
  }
  STEMTAP_TRY(CheckCsv(arguments));
  analysis::MatchOptions matching = arguments.matching;

  const model::Plan plan = STEMTAP_TRY(model::LoadPlan(arguments.plan));
  if (options.by == analysis::GroupBy::kRange && !model::HasRanges(plan)) {
    return Error{fmt::format("{}: {}", EscapeForTerminal(arguments.plan), model::kNoRanges), 2};
  }
  if (!arguments.ids.empty()) {
    const auto ids = analysis::LoadIds(arguments.ids);
    if (!ids.ok()) return ids.error();
    matching.index_of = ids.value();
    matching.use_ids = true;
  }
  formats::KernelResults results =
      STEMTAP_TRY(formats::LoadResults(arguments.results, arguments.reading));
  STEMTAP_TRY(SetKind(results, arguments.sums, formats::MetricKind::kSum, "--sum"));
  STEMTAP_TRY(SetKind(results, arguments.means, formats::MetricKind::kMean, "--mean"));
  const analysis::Match match = STEMTAP_TRY(analysis::MatchResults(plan, results, matching));
  const analysis::Extrapolation extrapolation =
      STEMTAP_TRY(analysis::Extrapolate(plan, results, match, options));
  Warn(results.warnings);
  Warn(match.warnings);
  if (const std::size_t sessions = plan.sessions.size(); sessions > 1) {
    Warn(
        {fmt::format("the plan contains {} sessions: the intervals assume independent errors; "
                     "ranks with the same launches may have errors {:.1f} times as large",
                     sessions, std::sqrt(static_cast<double>(sessions)))});
  }
  const analysis::ExtrapolationReport report{
      plan, results, match, extrapolation, options.confidence, options.by};
  return Deliver(arguments, report);
}

}  // namespace

CommandSpec ExtrapolateCommand() {
  CommandSpec command(
      "extrapolate",
      "estimate totals of the whole run from results on the samples, with intervals");
  auto arguments = std::make_shared<ExtrapolateArguments>();
  AddPlan(command, &arguments->plan, "plan.json that selected the samples, or its session");
  command
      .Add("--results", &arguments->results,
           "simulator log, ncu CSV or CSV table; several files are read as one")
      .File()
      .Required();
  command.Add("--from", Choice(&arguments->reading.source, kSources),
              "tool that wrote the results; auto: detected by content");
  command.Add("--confidence", &arguments->options.confidence, "confidence of the intervals")
      .Share(0.01, 0.999999);
  command.Add("--metrics", &arguments->options.metrics, "only these metrics").Delimited("NAME,...");
  command
      .Add("--ratio", &arguments->ratios,
           "ratio of two totals, for example IPC=instructions/cycles; repeatable")
      .Type("NAME=NUMERATOR/DENOMINATOR");
  command.Add("--by", Choice(&arguments->options.by, kGroups),
              "also print totals and rates of each kernel, or of each range that the program "
              "marked");
  command.Add("--csv", &arguments->csv, "also write the rows to this file").File();
  command.Add("--json", &arguments->json, "print the result as JSON");
  command
      .Add("--id-column", &arguments->reading.id_column,
           "CSV column with the id (default: the first of index, id, kernel_id, ID)")
      .Type("NAME")
      .Advanced();
  command.Add("--id-base", &arguments->matching.id_base, "id of the first launch in a CSV")
      .In(0, 1)
      .Advanced();
  command
      .Add("--ids", &arguments->ids,
           "CSV with the columns id and index, which maps each id to a launch")
      .File()
      .Advanced();
  command
      .Add("--device", &arguments->matching.device, "the results are for launches on this device")
      .In(0, shm::kUnknown16 - 1)
      .Advanced();
  command.Add("--sum", &arguments->sums, "metrics to add up, regardless of their names")
      .Delimited("NAME,...")
      .Advanced();
  command
      .Add("--mean", &arguments->means,
           "metrics to average over native time, regardless of their names")
      .Delimited("NAME,...")
      .Advanced();
  command
      .Add("--allow-cut", &arguments->reading.allow_cut,
           "accept a log that ends early, and use its complete kernels")
      .Advanced();
  command.run = [arguments](const CommandSpec&) { return RunExtrapolate(*arguments); };
  return command;
}

}  // namespace stemtap::ui
