// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/job_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "fleet/job.h"
#include "fleet/rank_comparison.h"
#include "model/brief_name.h"
#include "model/text_table.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

using fleet::RankComparison;
using fleet::RankRow;

// Slow kernels that a row names.
constexpr std::size_t kShownKernels = 3;

std::string KernelsOf(const RankRow& rank) {
  std::string text;
  for (std::size_t i = 0; i < std::min(rank.slow_kernels.size(), kShownKernels); ++i) {
    text += (i == 0 ? "" : ", ") + model::BriefName(rank.slow_kernels[i]);
  }
  if (rank.slow_kernels.size() > kShownKernels) {
    text += fmt::format(" and {} more", rank.slow_kernels.size() - kShownKernels);
  }
  return text;
}

std::string Heading(const RankComparison& comparison, const std::string& job) {
  std::uint64_t launches = 0;
  for (const RankRow& rank : comparison.ranks) launches += rank.run.launches;
  std::string text =
      fmt::format("job '{}': {}, {}\n", EscapeForTerminal(job),
                  Plural(comparison.ranks.size(), "rank"), Plural(launches, "launch", "launches"));
  if (comparison.ranks.size() < RankComparison::kMinRuns) {
    return text +
           fmt::format("too few ranks to compare; expected {} or more\n", RankComparison::kMinRuns);
  }
  text += fmt::format("{} compared", Plural(comparison.kernels, "kernel"));
  if (comparison.communication_share > 0.0) {
    text += fmt::format(
        "; communication, {:.1f} % of the time, is not, because it waits for the "
        "slowest rank",
        100 * comparison.communication_share);
  }
  text += '\n';
  const auto slow = std::count_if(comparison.ranks.begin(), comparison.ranks.end(),
                                  [](const RankRow& rank) { return rank.is_slow(); });
  return text + (slow == 0 ? "no rank is slow\n"
                           : fmt::format("{} slow\n", Plural(static_cast<std::uint64_t>(slow),
                                                             "rank is", "ranks are")));
}

std::string Text(RankComparison comparison, const std::string& job) {
  std::string text = Heading(comparison, job);
  // Slow ranks first.
  std::stable_sort(comparison.ranks.begin(), comparison.ranks.end(),
                   [](const RankRow& a, const RankRow& b) {
                     return (a.is_slow() ? a.slower : 0.0) > (b.is_slow() ? b.slower : 0.0);
                   });
  std::vector<model::TextColumn> columns = {{"rank", {}, 0, false},     {"time ms", {}, 2, false},
                                            {"launches", {}, 3, false}, {"slower %", {}, 0, false},
                                            {"95 %", {}, 1, false},     {"of time %", {}, 1, false},
                                            {"state", {}, 4, true}};
  model::TextNames names = {"host: slow kernels"};
  for (const RankRow& rank : comparison.ranks) {
    const bool slow = rank.is_slow();
    const auto cell = [slow](const std::string& value) { return slow ? value : std::string(); };
    columns[0].cells.push_back(std::to_string(rank.run.rank));
    columns[1].cells.push_back(
        fmt::format("{:.3f}", 1e-6 * static_cast<double>(rank.run.duration_ns)));
    columns[2].cells.push_back(std::to_string(rank.run.launches));
    columns[3].cells.push_back(cell(fmt::format("{:.1f}", 100 * rank.slower)));
    columns[4].cells.push_back(
        cell(fmt::format("{:.1f} to {:.1f}", 100 * rank.low, 100 * rank.high)));
    columns[5].cells.push_back(cell(fmt::format("{:.1f}", 100 * rank.slow_share)));
    columns[6].cells.push_back(rank.run.has_ended ? "ended" : "running");
    names.names.push_back(rank.run.host + cell(": " + KernelsOf(rank)));
  }
  return text + model::TableText(std::move(columns), std::move(names), OutputWidth());
}

std::string Json(const RankComparison& comparison, const std::string& job) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const RankRow& rank : comparison.ranks) {
    nlohmann::ordered_json row = {
        {"rank", rank.run.rank},         {"host", rank.run.host},
        {"launches", rank.run.launches}, {"duration_ns", rank.run.duration_ns},
        {"ended", rank.run.has_ended},   {"slow", rank.is_slow()}};
    if (rank.is_slow()) {
      row["slower"] = rank.slower;
      row["slower_low"] = rank.low;
      row["slower_high"] = rank.high;
      row["slow_share"] = rank.slow_share;
      row["slow_kernels"] = rank.slow_kernels;
    }
    ranks.push_back(std::move(row));
  }
  const nlohmann::ordered_json all = {{"schema", "stemtap.ranks/1"},
                                      {"job", job},
                                      {"kernels_compared", comparison.kernels},
                                      {"communication_share", comparison.communication_share},
                                      {"ranks", std::move(ranks)}};
  return all.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<int> PrintJobRanks(const FleetFlags& flags, bool json) {
  const std::string name = flags.Job();
  fleet::Job job(STEMTAP_TRY(flags.Server()), name);
  std::vector<fleet::RunState> runs = STEMTAP_TRY(job.ReadChanges());
  if (runs.empty()) {
    return Error{fmt::format("the server knows no job '{}'; expected one that runs, or ran today",
                             EscapeForTerminal(name))};
  }
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return std::pair(a.run.rank, a.run.id) < std::pair(b.run.rank, b.run.id);
  });
  const RankComparison comparison = fleet::CompareRanks(runs, STEMTAP_TRY(job.ReadKernels()));
  return json ? PrintJson(Json(comparison, name)) : PrintText(Text(comparison, name));
}

}  // namespace stemtap::ui
