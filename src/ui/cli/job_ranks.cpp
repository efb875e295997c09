// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/job_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
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

std::string NamesOf(const std::vector<std::string>& kernels) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kernels.size(), kShownKernels); ++i) {
    text += (i == 0 ? "" : ", ") + model::BriefName(kernels[i]);
  }
  if (kernels.size() > kShownKernels) {
    text += fmt::format(" and {} more", kernels.size() - kShownKernels);
  }
  return text;
}

// Returns the line about kernels that are not the same on all ranks. `how`: if it is one kernel.
std::string DifferenceLine(const RankComparison::Differing& differing, const char* how,
                           const char* how_many) {
  if (differing.kernels.empty()) return {};
  const std::size_t kernels = differing.kernels.size();
  return fmt::format("{}, {:.1f} % of the time, {}: {}\n", Plural(kernels, "kernel"),
                     100 * differing.share, kernels == 1 ? how : how_many,
                     NamesOf(differing.kernels));
}

std::string Heading(const RankComparison& comparison, const std::string& job) {
  std::uint64_t launches = 0;
  for (const RankRow& rank : comparison.ranks) launches += rank.run.launches;
  std::string text =
      fmt::format("job '{}': {}, {}\n", EscapeForTerminal(job),
                  Plural(comparison.ranks.size(), "rank"), Plural(launches, "launch", "launches"));
  text +=
      DifferenceLine(comparison.apart, "takes longer on some ranks", "take longer on some ranks");
  text += DifferenceLine(comparison.of_some, "runs on some ranks only", "run on some ranks only");
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

nlohmann::ordered_json JsonOf(const RankComparison::Differing& differing) {
  return {{"share", differing.share}, {"kernels", differing.kernels}};
}

const char* StateOf(const RankRow& rank) {
  if (rank.run.has_ended) return "ended";
  return rank.is_silent ? "silent" : "running";
}

}  // namespace

Status JobRanks::Refresh() {
  STEMTAP_TRY(watch_.Refresh());
  if (!watch_.is_empty()) return Success{};
  return Error{fmt::format("the server knows no job '{}'; expected one that runs, or ran today",
                           EscapeForTerminal(name_))};
}

std::string JobRanks::Text(std::size_t width) const {
  RankComparison comparison = watch_.Ranks();
  std::string text = Heading(comparison, name_);
  // Slow ranks first.
  std::stable_sort(comparison.ranks.begin(), comparison.ranks.end(),
                   [](const RankRow& a, const RankRow& b) {
                     return (a.is_slow() ? a.slower : 0.0) > (b.is_slow() ? b.slower : 0.0);
                   });
  std::uint64_t captured_ns = 0;
  for (const RankRow& rank : comparison.ranks) captured_ns += rank.captured_ns;
  std::vector<model::TextColumn> columns = {
      {"rank", {}, 0, false},     {"time ms", {}, 3, false},    {"launches", {}, 4, false},
      {"captures", {}, 5, false}, {"captured %", {}, 2, false}, {"slower %", {}, 0, false},
      {"95 %", {}, 1, false},     {"of time %", {}, 1, false},  {"state", {}, 6, true}};
  model::TextNames names = {"host: slow kernels"};
  for (const RankRow& rank : comparison.ranks) {
    const bool slow = rank.is_slow();
    const auto if_slow = [slow](const std::string& value) { return slow ? value : std::string(); };
    const std::string cells[] = {
        std::to_string(rank.run.rank),
        fmt::format("{:.3f}", 1e-6 * static_cast<double>(rank.run.duration_ns)),
        std::to_string(rank.run.launches),
        std::to_string(rank.captures),
        captured_ns == 0 ? std::string()
                         : fmt::format("{:.1f}", 100 * static_cast<double>(rank.captured_ns) /
                                                     static_cast<double>(captured_ns)),
        if_slow(fmt::format("{:.1f}", 100 * rank.slower)),
        if_slow(fmt::format("{:.1f} to {:.1f}", 100 * rank.low, 100 * rank.high)),
        if_slow(fmt::format("{:.1f}", 100 * rank.slow_share)),
        StateOf(rank)};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
    names.names.push_back(rank.run.host + if_slow(": " + NamesOf(rank.slow_kernels)));
  }
  return text + model::TableText(std::move(columns), std::move(names), width);
}

std::string RanksJson(const RankComparison& comparison, const std::string& job) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const RankRow& rank : comparison.ranks) {
    nlohmann::ordered_json row = {
        {"rank", rank.run.rank},         {"host", rank.run.host},
        {"launches", rank.run.launches}, {"duration_ns", rank.run.duration_ns},
        {"captures", rank.captures},     {"captured_ns", rank.captured_ns},
        {"ended", rank.run.has_ended},   {"silent", rank.is_silent},
        {"slow", rank.is_slow()}};
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
                                      {"kernels_apart", JsonOf(comparison.apart)},
                                      {"kernels_of_some", JsonOf(comparison.of_some)},
                                      {"ranks", std::move(ranks)}};
  return all.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::vector<std::string> SlowRanks(const RankComparison& comparison) {
  std::vector<std::string> lines;
  for (const RankRow& rank : comparison.ranks) {
    if (!rank.is_slow()) continue;
    lines.push_back(fmt::format(
        "rank {} on {} is slow: {:.1f} % ({:.1f} to {:.1f}) in {:.1f} % of the time: {}",
        rank.run.rank, EscapeForTerminal(rank.run.host), 100 * rank.slower, 100 * rank.low,
        100 * rank.high, 100 * rank.slow_share, EscapeForTerminal(NamesOf(rank.slow_kernels))));
  }
  return lines;
}

}  // namespace stemtap::ui
