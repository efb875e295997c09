// SPDX-License-Identifier: Apache-2.0
#include "model/plan_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "model/brief_name.h"
#include "model/launch_selection.h"
#include "model/row_view.h"
#include "model/text_table.h"

namespace stemtap::model {
namespace {

// Returns the time of the kernels whose samples are exactly their first launches, in ns. Excludes
// kernels with samples of all launches.
double FirstLaunchesTime(const Plan& plan) {
  double time_ns = 0.0;
  for (const PlanKernel& kernel : plan.kernels) {
    if (!kernel.pooled.empty()) continue;  // occurrences are per kernel
    std::uint64_t samples = 0;
    std::uint64_t last = 0;
    for (const PlanCluster& cluster : kernel.clusters) {
      samples += cluster.samples.size();
      for (const PlanSample& sample : cluster.samples) last = std::max(last, sample.occurrence);
    }
    const bool first_only = samples > 0 && last < samples && samples < kernel.invocations;
    if (first_only) time_ns += static_cast<double>(kernel.duration_ns);
  }
  return time_ns;
}

// Returns a text such as " at 95 % confidence", or an empty string if the plan has no confidence.
std::string AtConfidence(const Plan& plan) {
  const double confidence = OptionNumber(plan.options, "confidence");
  return std::isnan(confidence) ? std::string()
                                : fmt::format(" at {:g} % confidence", 100 * confidence);
}

// Returns how to get a smaller bound, or an empty string for a two-pass plan. Merged plans of
// replays may lack the lag, because it may differ between the sessions.
const char* BoundAdvice(const Plan& plan) {
  if (IsOfLiveSession(plan)) {
    return ": run longer, or sample a recording with 'stemtap plan'";
  }
  if (!plan.sessions.empty()) return ": use 'stemtap plan' to sample these recordings";
  if (OptionText(plan.options, "lag").empty()) return "";
  return ": use 'stemtap plan' to sample this recording";
}

// Returns the line of the summary about a bound above the requested one.
std::string RequestNote(const Plan& plan) {
  const double requested = OptionNumber(plan.options, "error_bound");
  if (!(plan.totals.bound > requested * (1 + 1e-9))) return {};
  return fmt::format("the bound is above the requested {:g} %{}\n", 100 * requested,
                     BoundAdvice(plan));
}

// Returns the requested bound, or an empty string if the plan does not contain it.
std::string Requested(const Plan& plan) {
  const double requested = OptionNumber(plan.options, "error_bound");
  return std::isnan(requested) ? "" : fmt::format(" (requested: {:g} %)", 100 * requested);
}

// Returns the lines of the summary that explain what the bound covers.
std::string BoundNotes(const Plan& plan) {
  const PlanTotals& t = plan.totals;
  if (std::isnan(t.bound)) return {};
  if (!ExceedsCertifiedBound(t.bound, t.certified_bound)) {
    return fmt::format(
        "the bound covers the sampling error{}{}, plus the uncovered time and the bias of joined "
        "launches in full\n",
        AtConfidence(plan), Requested(plan));
  }
  // In a merged plan, the observed errors of sessions may be known although the error of the plan
  // is unknown.
  if (std::isnan(t.observed_error)) {
    return fmt::format(
        "the observed errors of some sessions exceed their certified bounds, so the bound is "
        "larger than the certified bound, {:.2f} %\n",
        100 * t.certified_bound);
  }
  std::string text = fmt::format(
      "the observed error, {:.2f} %, exceeds the certified bound, {:.2f} %, so the bound is the "
      "observed error\n",
      100 * t.observed_error, 100 * t.certified_bound);
  const double first = FirstLaunchesTime(plan) / static_cast<double>(t.duration_ns);
  if (first > 0.5) {
    text += fmt::format(
        "kernels with {:.2f} % of the time were captured at their first launches only\n",
        100 * first);
  }
  return text;
}

double Milliseconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

// Returns the line of the summary about the kernels that --max-uncovered left without samples.
std::string ChoiceNote(const Plan& plan) {
  std::size_t kernels = 0;
  std::uint64_t time_ns = 0;
  for (const PlanKernel& kernel : plan.kernels) {
    if (!kernel.uncovered_by_choice) continue;
    ++kernels;
    time_ns += kernel.duration_ns;
  }
  if (kernels == 0) return {};
  return fmt::format("{} with {:.3f} ms got no samples by choice (--max-uncovered)\n",
                     Plural(kernels, "kernel"), Milliseconds(time_ns));
}

// Returns the line of the summary about the kernels that share clusters.
std::string PoolNote(const Plan& plan) {
  std::string text;
  for (const PlanKernel& kernel : plan.kernels) {
    if (kernel.pooled.empty()) continue;
    text +=
        fmt::format("{} kernels with {:.3f} ms share {} (--pool-small)\n", kernel.pooled.size(),
                    Milliseconds(kernel.duration_ns), Plural(kernel.clusters.size(), "cluster"));
  }
  return text;
}

// Returns the line that explains the shares of the time in the line above it.
std::string ShareNotes(const PlanTotals& t) {
  std::string text;
  if (t.uncovered_fraction > 0.0) text = "uncovered: in clusters without a sample";
  if (t.joined_fraction > 0.0) {
    text += text.empty() ? "" : "; ";
    text += "joined: other durations than the launches that samples were drawn from";
  }
  return text.empty() ? text : text + '\n';
}

// Returns the line about the estimate of the total. The calibrated estimate is the recorded time by
// definition, apart from uncovered time, so its error would state nothing.
std::string EstimateLine(const Plan& plan) {
  const PlanTotals& t = plan.totals;
  std::string text = fmt::format(
      "estimate of the GPU time from the samples: {:.3f} ms, {}", t.plain_estimate_ns * 1e-6,
      std::isnan(t.observed_error) ? std::string("error not known")
                                   : fmt::format("error {:.2f} %", 100 * t.observed_error));
  if (OptionText(plan.options, "weights") == "calibrated") {
    text += "; calibrated weights scale each cluster to its recorded time";
  }
  return text + '\n';
}

// Returns the lines of the summary about all launches.
std::string TotalsText(const Plan& plan) {
  const PlanTotals& t = plan.totals;
  std::string text = fmt::format(
      "{} of {}, {:.3f} ms of GPU time\n"
      "{} in {}, {:.3f} ms: {:.1f}x less to trace\n",
      Plural(t.invocations, "launch", "launches"), Plural(t.kernels, "kernel"),
      Milliseconds(t.duration_ns), Plural(t.samples, "sample"), Plural(t.clusters, "cluster"),
      Milliseconds(t.sampled_duration_ns), t.speedup);
  if (t.spread_samples != 0) {
    text +=
        fmt::format("{} of these show the spread of metrics other than time\n", t.spread_samples);
  }
  text += std::isnan(t.bound) ? "no error bound can be stated for this selection"
                              : fmt::format("error bound {:.2f} %", 100 * t.bound);
  text += fmt::format(", uncovered time {:.2f} %", 100 * t.uncovered_fraction);
  if (t.joined_fraction > 0.0) {
    text += fmt::format(", joined launches {:.2f} %", 100 * t.joined_fraction);
  }
  text += '\n' + ShareNotes(t) + BoundNotes(plan) + RequestNote(plan) + ChoiceNote(plan) +
          PoolNote(plan) + EstimateLine(plan);
  if (const std::string spread = SampleSpread(plan); !spread.empty()) text += spread + '\n';
  return text;
}

// Returns a warning about several launches, records or gaps as one about a single one.
std::string OfOne(std::string_view what) {
  constexpr std::pair<std::string_view, std::string_view> kForms[] = {
      {"launches were ", "launch was "},
      {"records were ", "record was "},
      {"gaps ", "gap "},
      {"times ", "time "}};
  std::string text(what);
  for (const auto& [many, one] : kForms) {
    const std::size_t at = text.find(many);
    if (at != std::string::npos) text.replace(at, many.size(), one);
  }
  return text;
}

// Returns the options that left launches out.
std::string ExcludingOptions(const OptionList& options) {
  std::string names;
  const auto add = [&names](bool is_set, const char* name) {
    if (!is_set) return;
    names += names.empty() ? "" : ", ";
    names += name;
  };
  const LaunchSelection selection = SelectionOf(options);
  add(!OptionText(options, "exclude").empty() ||
          (selection.only_range.empty() && selection.steps.all()),
      "--exclude");
  add(!selection.only_range.empty(), "--only-range");
  add(selection.steps.first != 0, "--skip-steps");
  add(selection.steps.count != 0, "--steps");
  return names;
}

// Returns the warnings of the summary.
std::string Notes(const Plan& plan) {
  const PlanTotals& t = plan.totals;
  std::string text;
  const auto note = [&text](std::uint64_t count, std::string_view what) {
    if (count == 0) return;
    text += fmt::format("{} {}\n", count, count == 1 ? OfOne(what) : std::string(what));
  };
  note(t.dropped, "records were dropped; the figures above are based on incomplete data");
  note(t.gaps, "gaps with an unknown number of launches; the run was longer than recorded");
  note(t.zero_duration,
       "launches were recorded with 0 ns (rounded by the profiler, or without a time)");
  note(t.graph_launches, "launches are whole graphs, each timed as one launch");
  note(t.imputed, fmt::format("launches were perturbed by captures and imputed with {:.3f} ms, the "
                              "means of unperturbed launches",
                              Milliseconds(t.imputed_duration_ns)));
  note(t.native_unknown,
       "of these have no unperturbed counterpart; their recorded durations are used");
  note(t.unobserved_launches,
       "launches were counted and are not in the figures above: of earlier windows, or while "
       "recording was paused");
  note(t.unobserved_intervals,
       "times without recording: launches in them are not known and not in the figures above");
  if (t.excluded_invocations != 0) {
    const bool one = t.excluded_invocations == 1;
    text += fmt::format("{} with {:.3f} ms {} excluded by {} and {} not counted above\n",
                        Plural(t.excluded_invocations, "launch", "launches"),
                        Milliseconds(t.excluded_duration_ns), one ? "was" : "were",
                        ExcludingOptions(plan.options), one ? "is" : "are");
  }
  return text;
}

// Returns what distinguishes a kernel from others of its name. With --group-by launch, the launch
// configuration does.
std::string PrefixOf(const PlanKernel& kernel) {
  std::string prefix;
  if (!kernel.range.empty()) prefix = fmt::format("[{}] ", EscapeForTerminal(kernel.range));
  if (kernel.process != 0) prefix += fmt::format("{} ", kernel.process);
  const auto& [grid, block] = kernel.config;
  if (grid[0] != shm::kUnknownExtent) {
    prefix +=
        fmt::format("{}x{}x{}/{}x{}x{} ", grid[0], grid[1], grid[2], block[0], block[1], block[2]);
  }
  return prefix;
}

// PlanSortKey is a value that kernels are sorted by.
struct PlanSortKey {
  const char* name;
  double (*value)(const PlanKernel& kernel);  // null: the name
};

std::size_t SampleCount(const PlanKernel& kernel) {
  std::size_t samples = 0;
  for (const PlanCluster& cluster : kernel.clusters) samples += cluster.samples.size();
  return samples;
}

double MeanNs(const PlanKernel& kernel) {
  return static_cast<double>(kernel.duration_ns) /
         static_cast<double>(std::max<std::uint64_t>(kernel.invocations, 1));
}

constexpr PlanSortKey kSortKeys[] = {
    {"time", [](const PlanKernel& k) { return static_cast<double>(k.duration_ns); }},
    {"launches", [](const PlanKernel& k) { return static_cast<double>(k.invocations); }},
    {"mean", MeanNs},
    {"clusters", [](const PlanKernel& k) { return static_cast<double>(k.clusters.size()); }},
    {"samples", [](const PlanKernel& k) { return static_cast<double>(SampleCount(k)); }},
    {"name", nullptr}};

RowView ChooseKernels(const Plan& plan, const RowChoice& choice,
                      std::span<const std::string> brief_names) {
  std::vector<std::string_view> names;
  for (const PlanKernel& kernel : plan.kernels) names.push_back(kernel.name);
  const PlanSortKey* key = &kSortKeys[0];
  for (const PlanSortKey& other : kSortKeys) {
    if (choice.sort == other.name) key = &other;
  }
  if (key->value == nullptr) return ChooseRowsByName(choice, names, brief_names);
  return ChooseRows(choice, names, brief_names,
                    [&](std::size_t i) { return key->value(plan.kernels[i]); });
}

// Returns the brief names of all kernels. A kernel that is not shown may have the same brief name
// as one that is.
std::vector<std::string> BriefNamesOf(const Plan& plan) {
  std::vector<std::string_view> names;
  for (const PlanKernel& kernel : plan.kernels) names.push_back(kernel.name);
  return BriefNames(names);
}

// Returns the table of the ranges and an empty line, if launches are grouped by range.
std::string RangeTable(const Plan& plan, const SummaryTable& table) {
  if (plan.ranges.empty()) return {};
  std::vector<TextColumn> columns = {
      {"   time"}, {"   launches"}, {"samples", {}, 1}, {"   bound"}, {"   error", {}, 2}};
  TextNames names = {"range"};
  const std::size_t shown = std::min(plan.ranges.size(), table.rows.top);
  const auto percent = [](double share) {
    return std::isnan(share) ? std::string("-") : fmt::format("{:.2f} %", 100.0 * share);
  };
  for (std::size_t i = 0; i < shown; ++i) {
    const PlanRange& range = plan.ranges[i];
    const double all = std::max(static_cast<double>(plan.totals.duration_ns), 1.0);
    columns[0].cells.push_back(
        fmt::format("{:.1f} %", 100.0 * static_cast<double>(range.duration_ns) / all));
    columns[1].cells.push_back(std::to_string(range.invocations));
    columns[2].cells.push_back(std::to_string(range.samples));
    columns[3].cells.push_back(percent(range.bound));
    columns[4].cells.push_back(percent(range.observed_error));
    names.names.push_back(range.range.empty() ? "(none)" : EscapeForTerminal(range.range));
    names.before.emplace_back();
  }
  std::string text = TableText(std::move(columns), std::move(names), table.width);
  if (shown < plan.ranges.size()) {
    text += fmt::format("... and {}\n", Plural(plan.ranges.size() - shown, "more range"));
  }
  return text + '\n';
}

std::string KernelTable(const Plan& plan, const SummaryTable& table) {
  const std::vector<std::string> brief = BriefNamesOf(plan);
  const RowView view = ChooseKernels(plan, table.rows, brief);
  std::vector<TextColumn> columns = {
      {"   time"}, {"   launches"}, {" mean us"}, {"clusters", {}, 1}, {"samples", {}, 2}};
  TextNames names = {"kernel"};
  for (const std::size_t i : view.rows) {
    const PlanKernel& k = plan.kernels[i];
    const double share = plan.totals.duration_ns == 0
                             ? 0.0
                             : 100.0 * static_cast<double>(k.duration_ns) /
                                   static_cast<double>(plan.totals.duration_ns);
    columns[0].cells.push_back(fmt::format("{:.1f} %", share));
    columns[1].cells.push_back(std::to_string(k.invocations));
    columns[2].cells.push_back(fmt::format("{:.2f}", 1e-3 * MeanNs(k)));
    columns[3].cells.push_back(std::to_string(k.clusters.size()));
    columns[4].cells.push_back(std::to_string(SampleCount(k)));
    names.names.push_back(brief[i]);
    names.before.push_back(PrefixOf(k));
  }
  return TableText(std::move(columns), std::move(names), table.width) + LeftOutLine(view, "kernel");
}

}  // namespace

std::string SampleSpread(const Plan& plan) {
  constexpr std::size_t kMinForHalf = 4;
  std::vector<std::uint64_t> launches;
  double largest = 0.0;
  for (const PlanKernel& kernel : plan.kernels) {
    for (const PlanCluster& cluster : kernel.clusters) {
      for (const PlanSample& sample : cluster.samples) {
        launches.push_back(sample.index);
        largest = std::max(largest, sample.weight);
      }
    }
  }
  if (launches.empty()) return {};
  std::sort(launches.begin(), launches.end());
  const std::size_t quarter = launches.size() / 4;
  return fmt::format("samples: launches {} to {} of {}{}; largest weight {:.6g}", launches.front(),
                     launches.back(), plan.totals.numbered(),
                     launches.size() < kMinForHalf
                         ? std::string()
                         : fmt::format(", the middle half {} to {}", launches[quarter],
                                       launches[launches.size() - 1 - quarter]),
                     largest);
}

std::span<const char* const> PlanSortKeys() {
  static constexpr auto kNames = [] {
    std::array<const char*, std::size(kSortKeys)> names = {};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kSortKeys[i].name;
    return names;
  }();
  return kNames;
}

std::string PlanSummary(const Plan& plan, const SummaryTable& table) {
  return WrappedLines(TotalsText(plan) + Notes(plan), table.text_width) + '\n' +
         RangeTable(plan, table) + KernelTable(plan, table);
}

}  // namespace stemtap::model
