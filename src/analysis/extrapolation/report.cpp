// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/extrapolation/extrapolate.h"
#include "analysis/extrapolation/student.h"
#include "base/csv.h"
#include "base/text.h"
#include "model/brief_name.h"
#include "sampling/top_up.h"

namespace stemtap::analysis {
namespace {

// Columns of a name; the numbers of a row need about 100.
constexpr std::size_t kNameColumns = 44;

// Returns a percentage of two digits, or "none".
std::string Percent(double fraction) {
  if (!std::isfinite(fraction)) return "none";
  return fraction != 0.0 && fraction < 0.0001 ? "<0.01 %"
                                              : fmt::format("{:.2f} %", 100.0 * fraction);
}

// Returns the interval relative to the estimate; both sides if they differ.
std::string Margin(const Estimate& estimate) {
  if (!std::isfinite(estimate.half_width)) return "none";
  if (estimate.half_width == 0.0) return "0 %";
  if (estimate.value == 0.0) return fmt::format("{:.4g}", estimate.half_width);
  const double size = std::abs(estimate.value);
  const std::string below = Percent((estimate.value - estimate.lower) / size);
  const std::string above = Percent((estimate.upper - estimate.value) / size);
  return below == above ? below : fmt::format("-{} +{}", below, above);
}

// Returns about seven digits, or "none".
std::string Number(double value) {
  if (!std::isfinite(value)) return "none";
  return std::abs(value) >= 1e6 && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                          : fmt::format("{:.7g}", value);
}

// Returns the calibrated total divided by the covered share of native time: an estimate that treats
// uncovered time like covered time. NaN if the share is 0 or unknown, or the metric is not a total.
double Scaled(const MetricEstimate& metric) {
  const double covered = 1.0 - metric.uncovered_fraction;
  return metric.additive && covered > 0.0 ? metric.calibrated.value / covered
                                          : std::numeric_limits<double>::quiet_NaN();
}

// Returns the share of native time that the intervals do not cover: time without a result, and
// joined launches, whose values are estimated from other launches. `Fractions` is Extrapolation or
// MetricEstimate.
template <typename Fractions>
double OutsideIntervals(const Fractions& of) {
  return std::min(1.0, of.uncovered_fraction + of.joined_fraction);
}

constexpr std::size_t kNamed = 5;  // maximum metrics in a note
// Relative half-width below which more samples are not recommended.
constexpr double kNarrow = 0.001;
// With fewer degrees of freedom, Student's quantile is more than 1.3 times the normal quantile at
// 95 %, so the interval is wide mainly because the spread is uncertain.
constexpr double kFewDegrees = 5.0;

std::string TextOption(const model::Plan& plan, std::string_view name) {
  for (const auto& [option, value] : plan.options) {
    if (option != name) continue;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
  }
  return {};
}

std::string Listed(const std::vector<std::string>& named, std::uint64_t count) {
  std::string list;
  for (const std::string& one : named) list += (list.empty() ? "" : ", ") + one;
  if (count > named.size()) list += fmt::format(" and {} more", count - named.size());
  return list;
}

// Returns what was read, and the share of native time that the totals and intervals omit.
std::string HeaderText(const ExtrapolationReport& report) {
  const Match& match = report.match;
  const Extrapolation& extrapolation = report.extrapolation;
  std::string text = fmt::format(
      "{} of {} with results, {} read ({})\n", match.matched, Plural(match.samples, "sample"),
      Plural(report.results.rows.size(), "result"), formats::NameOf(report.results.source));
  const auto list = [&](const char* one, const char* what, std::uint64_t count,
                        const std::vector<std::string>& named) {
    if (count == 0) return;
    text += fmt::format("{}{}: {}\n", Plural(count, one), what, Listed(named, count));
  };
  list("sample", " without a result", match.missing_count, match.missing);
  list("result", " without a sample, not used", match.unmatched_count, match.unmatched);
  list("additional result", " of a sample, not used", match.duplicate_count, match.duplicates);
  text += fmt::format("uncovered: {} of native time, {} of {}{}\n",
                      Percent(extrapolation.uncovered_fraction), extrapolation.uncovered_clusters,
                      Plural(extrapolation.clusters, "cluster"),
                      extrapolation.uncovered_fraction > 0.0
                          ? "; the totals omit it, except the calibrated totals that are scaled to "
                            "the whole run"
                          : "");
  if (extrapolation.joined_fraction > 0.0) {
    text += fmt::format(
        "joined launches: {} of native time, estimated from the other launches of their cluster\n",
        Percent(extrapolation.joined_fraction));
  }
  const double outside = OutsideIntervals(extrapolation);
  text += fmt::format("intervals at {:g} % confidence", 100.0 * report.confidence);
  if (outside > 0.0) text += fmt::format("; they do not cover {} of native time", Percent(outside));
  return text + '\n';
}

std::string RunTable(const Extrapolation& extrapolation) {
  std::vector<std::string> names;
  bool scaled = false;
  for (const MetricEstimate& metric : extrapolation.metrics) {
    names.push_back(metric.name);
    scaled = scaled || metric.uncovered_fraction > 0.0;
  }
  names = model::NamesForTerminal(std::move(names), kNameColumns);
  std::size_t name_width = 6;
  for (const std::string& name : names) name_width = std::max(name_width, name.size());
  const auto row = [&](const std::string& name, const std::string& plain,
                       const std::string& plain_margin, const std::string& calibrated,
                       const std::string& margin, const std::string& whole,
                       const std::string& samples, const std::string& how) {
    return fmt::format("{:{}}  {:>16}  {:>19}  {:>16}  {:>19}{}  {:>7}  {}\n", name, name_width,
                       plain, plain_margin, calibrated, margin,
                       scaled ? fmt::format("  {:>23}", whole) : std::string(), samples, how);
  };
  std::string text =
      row("metric", "plain", "+-", "calibrated", "+-", "scaled to the whole run", "samples", "how");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MetricEstimate& metric = extrapolation.metrics[i];
    std::string how = EscapeForTerminal(metric.how);
    if (!metric.unit.empty()) how += ", " + EscapeForTerminal(metric.unit);
    if (metric.uncovered_fraction > extrapolation.uncovered_fraction) {
      how += fmt::format(", {} of time uncovered", Percent(metric.uncovered_fraction));
    }
    text += row(names[i], Number(metric.plain.value), Margin(metric.plain),
                Number(metric.calibrated.value), Margin(metric.calibrated),
                metric.additive ? Number(Scaled(metric)) : std::string(),
                std::to_string(metric.samples), how);
  }
  return text;
}

// Returns a note about the kernels that the plan leaves uncovered by choice; empty if none.
std::string ChoiceNote(const model::Plan& plan) {
  std::size_t kernels = 0;
  double time_ns = 0.0;
  for (const model::PlanKernel& kernel : plan.kernels) {
    if (!kernel.uncovered_by_choice) continue;
    ++kernels;
    time_ns += static_cast<double>(kernel.duration_ns);
  }
  if (kernels == 0) return {};
  return fmt::format(
      "{} with {} of native time got no samples by choice (--max-uncovered); totals scaled to the "
      "whole run treat this time like the rest",
      Plural(kernels, "kernel"), Percent(time_ns / static_cast<double>(plan.totals.duration_ns)));
}

// Returns whether a cluster that was meant to have samples has no result.
bool LacksResults(const ExtrapolationReport& report) {
  std::uint64_t by_choice = 0;
  for (const model::PlanKernel& kernel : report.plan.kernels) {
    if (kernel.uncovered_by_choice) by_choice += kernel.clusters.size();
  }
  return report.extrapolation.uncovered_clusters > by_choice;
}

// Returns what can be added to the plan; nothing if it cannot be topped up.
sampling::TopUp MoreFor(const model::Plan& plan) {
  return sampling::WhyNoTopUp(plan).empty() ? sampling::TopUpOf(plan) : sampling::TopUp{};
}

std::string Added(const sampling::TopUp& more) {
  return fmt::format("add {} of about {:.3g} ms in total (stemtap plan --top-up)",
                     Plural(more.count, "sample"), more.duration_ns * 1e-6);
}

std::string NoteOf(const MetricGroup& group, const MetricEstimate& metric) {
  if (group.uncovered_by_choice) return "  no samples by choice (--max-uncovered)";
  if (metric.samples == 0) return "  no result";
  if (metric.uncovered_fraction > 0.0) {
    return fmt::format("  {} of its time uncovered", Percent(metric.uncovered_fraction));
  }
  return {};
}

std::string RowOf(const std::string& name, std::size_t name_width, double time_share,
                  const MetricEstimate& metric, const std::string& note) {
  std::string row =
      fmt::format("{:{}}  {:>9}  {:>16}  {:>19}", name, name_width, Percent(time_share),
                  Number(metric.calibrated.value), Margin(metric.calibrated));
  if (metric.additive) {
    row += fmt::format("  {:>14}  {:>14}", Number(metric.per_launch.value),
                       Number(metric.per_second.value));
  }
  return row + fmt::format("  {:>7}{}\n", metric.samples, note);
}

std::vector<std::string> NamesOf(GroupBy by, std::span<const MetricGroup* const> groups) {
  std::vector<std::string_view> names;
  for (const MetricGroup* group : groups) names.push_back(group->name);
  return model::NamesForTerminal(by == GroupBy::kKernel
                                     ? model::BriefNames(names)
                                     : std::vector<std::string>(names.begin(), names.end()),
                                 kNameColumns);
}

// Returns one table per metric, of kernels or ranges.
std::string GroupsText(const ExtrapolationReport& report) {
  const Extrapolation& extrapolation = report.extrapolation;
  std::vector<const MetricGroup*> groups;
  for (const MetricGroup& group : extrapolation.groups) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(), [](const MetricGroup* a, const MetricGroup* b) {
    return a->native_ns > b->native_ns;
  });
  const std::vector<std::string> names = NamesOf(report.by, groups);
  std::size_t name_width = 6;
  for (const std::string& name : names) name_width = std::max(name_width, name.size());
  const auto run_ns = static_cast<double>(report.plan.totals.duration_ns);
  std::string text;
  for (std::size_t i = 0; i < extrapolation.metrics.size(); ++i) {
    const MetricEstimate& run = extrapolation.metrics[i];
    std::string title = EscapeForTerminal(run.name) + ", " + EscapeForTerminal(run.how);
    if (!run.unit.empty()) title += ", " + EscapeForTerminal(run.unit);
    text += fmt::format("\n{} (calibrated)\n{:{}}  {:>9}  {:>16}  {:>19}", title, NameOf(report.by),
                        name_width, "time", "value", "+-");
    if (run.additive) text += fmt::format("  {:>14}  {:>14}", "per launch", "per second");
    text += fmt::format("  {:>7}\n", "samples");
    for (std::size_t row = 0; row < groups.size(); ++row) {
      const MetricEstimate& metric = groups[row]->metrics[i];
      text += RowOf(names[row], name_width, groups[row]->native_ns / run_ns, metric,
                    NoteOf(*groups[row], metric));
    }
    text += RowOf("(run)", name_width, 1.0, run, {});
  }
  return text;
}

std::string Cells(const Estimate& estimate) {
  return fmt::format("{},{},{}", CsvCell(estimate.value), CsvCell(estimate.lower),
                     CsvCell(estimate.upper));
}

// Returns one row per metric. `group` contains the cells that are equal in all rows.
std::string Rows(const std::string& group, const std::vector<MetricEstimate>& metrics) {
  const std::string no_rates = ",,,,,";
  std::string rows;
  for (const MetricEstimate& metric : metrics) {
    rows += fmt::format(
        "{},{},{},{},{},{},{},{},{},{}\n", group, CsvCell(metric.name), CsvCell(metric.unit),
        CsvCell(metric.how), metric.samples, CsvCell(metric.uncovered_fraction),
        Cells(metric.plain), Cells(metric.calibrated),
        metric.additive ? CsvCell(Scaled(metric)) : std::string(),
        metric.additive ? Cells(metric.per_launch) + "," + Cells(metric.per_second) : no_rates);
  }
  return rows;
}

using nlohmann::ordered_json;

ordered_json NumberJson(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

ordered_json EstimateJson(const Estimate& estimate) {
  return {{"value", NumberJson(estimate.value)},
          {"half_width", NumberJson(estimate.half_width)},
          {"lower", NumberJson(estimate.lower)},
          {"upper", NumberJson(estimate.upper)},
          {"degrees", NumberJson(estimate.degrees)}};
}

ordered_json MetricsJson(const std::vector<MetricEstimate>& estimates) {
  ordered_json metrics = ordered_json::array();
  for (const MetricEstimate& metric : estimates) {
    ordered_json entry = {{"name", metric.name},
                          {"unit", metric.unit},
                          {"how", metric.how},
                          {"additive", metric.additive},
                          {"samples", metric.samples},
                          {"uncovered_fraction", NumberJson(metric.uncovered_fraction)},
                          {"joined_fraction", NumberJson(metric.joined_fraction)},
                          {"outside_intervals_fraction", NumberJson(OutsideIntervals(metric))},
                          {"plain", EstimateJson(metric.plain)},
                          {"calibrated", EstimateJson(metric.calibrated)}};
    if (metric.additive) {
      entry["per_launch"] = EstimateJson(metric.per_launch);
      entry["per_second"] = EstimateJson(metric.per_second);
      entry["planned"] = NumberJson(metric.planned);
      entry["scaled"] = NumberJson(Scaled(metric));
    }
    metrics.push_back(std::move(entry));
  }
  return metrics;
}

ordered_json GroupJson(const MetricGroup& group) {
  return {{"name", group.name},
          {"launches", group.launches},
          {"native_duration_ns", group.native_ns},
          {"samples", group.samples},
          {"uncovered_fraction", NumberJson(group.uncovered_fraction)},
          {"uncovered_by_choice", group.uncovered_by_choice},
          {"metrics", MetricsJson(group.metrics)}};
}

}  // namespace

NextStep NextStepOf(const ExtrapolationReport& report) {
  const Match& match = report.match;
  if (match.missing_count > 0) {
    return {fmt::format("run the {} without a result: {}", Plural(match.missing_count, "sample"),
                        Listed(match.missing, match.missing_count))};
  }
  if (LacksResults(report)) {
    return {
        "sample the clusters without a result: a plan from the finished profile (stemtap plan) "
        "covers every cluster"};
  }
  double widest = 0.0;
  double degrees = 0.0;  // of the widest interval
  std::string name;
  bool none = false;
  for (const MetricEstimate& metric : report.extrapolation.metrics) {
    const Estimate& estimate = metric.calibrated;
    // More samples do not help if there is no value; Caveats reports why.
    if (!std::isfinite(estimate.value)) continue;
    none = none || std::isnan(estimate.half_width);
    const double relative =
        estimate.value != 0.0 ? estimate.half_width / std::abs(estimate.value) : 0.0;
    if (relative > widest) {
      widest = relative;
      degrees = estimate.degrees;
      name = metric.name;
    }
  }
  const sampling::TopUp more = MoreFor(report.plan);
  if (none && more.count == 0) return {"for an interval, plan with --min-samples 2 or more"};
  if (none) return {fmt::format("for an interval, {}", Added(more)), true};
  if (widest < kNarrow) return {"nothing is missing"};
  if (degrees < kFewDegrees && more.second > 0) {
    // Of a spread that is as it was seen.
    const auto reach = [&](double d) { return StudentQuantile(report.confidence, d); };
    const double after =
        widest * reach(degrees + static_cast<double>(more.second)) / reach(degrees);
    return {
        fmt::format("nothing is missing; the interval of {} is wide because few samples show its "
                    "spread: expect about +-{} instead of +-{} if you {}",
                    ShortText(name, kNameColumns), Percent(after), Percent(widest), Added(more)),
        true};
  }
  if (degrees < kFewDegrees) {
    return {fmt::format(
        "nothing is missing; the interval of {} is wide because few samples show its spread: plan "
        "with --min-samples 2",
        ShortText(name, kNameColumns))};
  }
  return {fmt::format(
      "nothing is missing; {} has the widest calibrated interval; half its width takes about four "
      "times as many samples (stemtap plan --min-samples, --error-bound)",
      ShortText(name, kNameColumns))};
}

std::vector<std::string> Caveats(const ExtrapolationReport& report) {
  std::vector<std::string> caveats;
  const model::PlanTotals& totals = report.plan.totals;
  if (totals.dropped != 0 || totals.gaps != 0) {
    caveats.push_back(
        fmt::format("{} launches were dropped and {} gaps of unknown size occurred while the plan "
                    "was recorded; totals cover the recorded launches",
                    totals.dropped, totals.gaps));
  }
  const std::string selection = TextOption(report.plan, "selection");
  if (selection == "first") {
    caveats.push_back(
        "the plan contains the first launches of each cluster, which are not a random sample; the "
        "intervals do not apply");
  }
  if (selection == "balanced") {
    caveats.push_back(
        "the plan's samples are balanced, but the intervals assume a random sample; they are too "
        "wide for metrics that follow duration");
  }
  if (report.extrapolation.own_weights) {
    caveats.push_back(
        fmt::format("the plan uses the weights of its method '{}'; 'planned' in --json is the "
                    "total with these weights, without an interval",
                    EscapeForTerminal(TextOption(report.plan, "method"))));
  }
  if (report.extrapolation.single_clusters > 0) {
    caveats.push_back(fmt::format(
        "{} one result only; the spread is estimated from the differences between clusters",
        Plural(report.extrapolation.single_clusters, "cluster has", "clusters have")));
  }
  if (std::string note = ChoiceNote(report.plan); !note.empty()) {
    caveats.push_back(std::move(note));
  }
  if (report.by == GroupBy::kRange) {
    caveats.push_back(
        "only ranges with a sample are listed; the launches of a range are estimated, so intervals "
        "are wide for ranges that few samples are in");
  }
  std::vector<std::string> divided_by_0;
  for (const MetricEstimate& metric : report.extrapolation.metrics) {
    if (metric.samples == 0) continue;
    if (!metric.additive && !std::isfinite(metric.plain.value)) {
      divided_by_0.push_back(ShortText(metric.name, kNameColumns));
    }
  }
  const auto first = [](std::vector<std::string> names) {
    const std::size_t count = names.size();
    if (names.size() > kNamed) names.resize(kNamed);
    return Listed(names, count);
  };
  if (!divided_by_0.empty()) {
    caveats.push_back(
        fmt::format("no value, because the denominator is 0: {}", first(divided_by_0)));
  }
  return caveats;
}

std::string ReportText(const ExtrapolationReport& report) {
  std::string text = HeaderText(report) + "\n" + RunTable(report.extrapolation);
  if (report.by != GroupBy::kNone) text += GroupsText(report);
  text += "\n";
  for (const std::string& caveat : Caveats(report)) text += "note: " + caveat + "\n";
  text += "advice: " + NextStepOf(report).text + "\n";
  return text;
}

std::string ReportJson(const ExtrapolationReport& report) {
  const Match& match = report.match;
  const Extrapolation& extrapolation = report.extrapolation;
  ordered_json json = {{"schema", "stemtap.extrapolation/1"},
                       {"plan_source", report.plan.source},
                       {"from", formats::NameOf(report.results.source)},
                       {"confidence", report.confidence},
                       {"samples", match.samples},
                       {"results", report.results.rows.size()},
                       {"matched", match.matched},
                       {"missing", match.missing_count},
                       {"first_missing", match.missing},
                       {"without_sample", match.unmatched_count},
                       {"first_without_sample", match.unmatched},
                       {"duplicates", match.duplicate_count},
                       {"first_duplicates", match.duplicates},
                       {"clusters", extrapolation.clusters},
                       {"uncovered_clusters", extrapolation.uncovered_clusters},
                       {"single_clusters", extrapolation.single_clusters},
                       {"uncovered_fraction", extrapolation.uncovered_fraction},
                       {"joined_fraction", extrapolation.joined_fraction},
                       {"outside_intervals_fraction", OutsideIntervals(extrapolation)},
                       {"native_duration_ns", report.plan.totals.duration_ns},
                       {"notes", Caveats(report)},
                       {"next", NextStepOf(report).text}};
  json["metrics"] = MetricsJson(extrapolation.metrics);
  if (report.by != GroupBy::kNone) {
    json["by"] = NameOf(report.by);
    ordered_json groups = ordered_json::array();
    for (const MetricGroup& group : extrapolation.groups) groups.push_back(GroupJson(group));
    json["groups"] = std::move(groups);
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string ReportCsv(const ExtrapolationReport& report) {
  std::string csv =
      "by,name,launches,native_ns,metric,unit,how,samples,uncovered_fraction,plain,plain_lower,"
      "plain_upper,calibrated,calibrated_lower,calibrated_upper,scaled,per_launch,"
      "per_launch_lower,per_launch_upper,per_second,per_second_lower,per_second_upper\n";
  const model::PlanTotals& totals = report.plan.totals;
  csv += Rows(fmt::format("run,,{},{}", totals.invocations, totals.duration_ns),
              report.extrapolation.metrics);
  for (const MetricGroup& group : report.extrapolation.groups) {
    csv += Rows(fmt::format("{},{},{},{}", NameOf(report.by), CsvCell(group.name), group.launches,
                            group.native_ns),
                group.metrics);
  }
  return csv;
}

}  // namespace stemtap::analysis
