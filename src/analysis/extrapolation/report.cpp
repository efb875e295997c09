// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"

namespace stemtap::analysis {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kNameWidth = 44;
constexpr std::size_t kNamed = 5;  // maximum metrics in a note

std::string TextOption(const model::Plan& plan, std::string_view name) {
  for (const auto& [option, value] : plan.options) {
    if (option != name) continue;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
  }
  return {};
}

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

std::string Number(double value) {
  if (!std::isfinite(value)) return "none";
  return std::abs(value) >= 1e6 && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                          : fmt::format("{:.7g}", value);
}

std::string Shortened(const std::string& name) {
  const std::string shown = EscapeForTerminal(name);
  return shown.size() <= kNameWidth ? shown : shown.substr(0, kNameWidth - 3) + "...";
}

std::string Listed(const std::vector<std::string>& named, std::uint64_t count) {
  std::string list;
  for (const std::string& one : named) list += (list.empty() ? "" : ", ") + one;
  if (count > named.size()) list += fmt::format(" and {} more", count - named.size());
  return list;
}

std::string NextStep(const ExtrapolationReport& report) {
  const Match& match = report.match;
  if (match.missing_count > 0) {
    return fmt::format("run the {} samples without a result: {}", match.missing_count,
                       Listed(match.missing, match.missing_count));
  }
  if (report.extrapolation.uncovered_clusters > 0) {
    return "sample the clusters without a result: a plan from the finished profile (stemtap plan) "
           "covers every cluster";
  }
  double widest = 0.0;
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
      name = metric.name;
    }
  }
  if (none) return "for an interval, plan with --min-samples 2 or more";
  if (name.empty()) return "nothing is missing";
  return fmt::format(
      "nothing is missing; {} has the widest calibrated interval; half its width takes about four "
      "times as many samples (stemtap plan --min-samples, --error-bound)",
      Shortened(name));
}

// Returns the share of native time that the intervals do not cover: time without a result, and
// joined launches, whose values are estimated from other launches. `Fractions` is Extrapolation or
// MetricEstimate.
template <typename Fractions>
double OutsideIntervals(const Fractions& of) {
  return std::min(1.0, of.uncovered_fraction + of.joined_fraction);
}

ordered_json EstimateJson(const Estimate& estimate) {
  const auto number = [](double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json();
  };
  return {{"value", number(estimate.value)},
          {"half_width", number(estimate.half_width)},
          {"lower", number(estimate.lower)},
          {"upper", number(estimate.upper)},
          {"degrees", number(estimate.degrees)}};
}

}  // namespace

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
        "{} clusters have one result each; their spread is estimated from other clusters",
        report.extrapolation.single_clusters));
  }
  std::vector<std::string> divided_by_0;
  for (const MetricEstimate& metric : report.extrapolation.metrics) {
    if (metric.samples == 0) continue;
    if (!metric.additive && !std::isfinite(metric.plain.value)) {
      divided_by_0.push_back(Shortened(metric.name));
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
  const Match& match = report.match;
  const Extrapolation& extrapolation = report.extrapolation;
  std::string text = fmt::format("{} of {} samples have results, {} results read ({})\n",
                                 match.matched, match.samples, report.results.rows.size(),
                                 formats::NameOf(report.results.source));
  const auto list = [&](const char* what, std::uint64_t count,
                        const std::vector<std::string>& named) {
    if (count > 0) text += fmt::format("{} {}: {}\n", count, what, Listed(named, count));
  };
  list("samples without a result", match.missing_count, match.missing);
  list("results without a sample, not used", match.unmatched_count, match.unmatched);
  list("additional results of a sample, not used", match.duplicate_count, match.duplicates);
  text += fmt::format("uncovered: {} of native time, {} of {} clusters{}\n",
                      Percent(extrapolation.uncovered_fraction), extrapolation.uncovered_clusters,
                      extrapolation.clusters,
                      extrapolation.uncovered_fraction > 0.0
                          ? "; the totals omit it (--json also has totals scaled by time)"
                          : "");
  if (extrapolation.joined_fraction > 0.0) {
    text += fmt::format(
        "joined launches: {} of native time, estimated from the other launches of their cluster\n",
        Percent(extrapolation.joined_fraction));
  }
  text += fmt::format("intervals at {:g} % confidence; they do not cover {} of native time\n\n",
                      100.0 * report.confidence, Percent(OutsideIntervals(extrapolation)));

  std::size_t name_width = 6;
  for (const MetricEstimate& metric : extrapolation.metrics) {
    name_width = std::max(name_width, Shortened(metric.name).size());
  }
  text += fmt::format("{:{}}  {:>16}  {:>19}  {:>16}  {:>19}  {:>7}  {}\n", "metric", name_width,
                      "plain", "+-", "calibrated", "+-", "samples", "how");
  for (const MetricEstimate& metric : extrapolation.metrics) {
    std::string how = EscapeForTerminal(metric.how);
    if (!metric.unit.empty()) how += ", " + EscapeForTerminal(metric.unit);
    if (metric.uncovered_fraction > extrapolation.uncovered_fraction) {
      how += fmt::format(", {} of time uncovered", Percent(metric.uncovered_fraction));
    }
    text += fmt::format("{:{}}  {:>16}  {:>19}  {:>16}  {:>19}  {:>7}  {}\n",
                        Shortened(metric.name), name_width, Number(metric.plain.value),
                        Margin(metric.plain), Number(metric.calibrated.value),
                        Margin(metric.calibrated), metric.samples, how);
  }
  text += "\n";
  for (const std::string& caveat : Caveats(report)) text += "note: " + caveat + "\n";
  text += "next: " + NextStep(report) + "\n";
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
                       {"next", NextStep(report)}};
  ordered_json metrics = ordered_json::array();
  for (const MetricEstimate& metric : extrapolation.metrics) {
    ordered_json entry = {{"name", metric.name},
                          {"unit", metric.unit},
                          {"how", metric.how},
                          {"additive", metric.additive},
                          {"samples", metric.samples},
                          {"uncovered_fraction", metric.uncovered_fraction},
                          {"joined_fraction", metric.joined_fraction},
                          {"outside_intervals_fraction", OutsideIntervals(metric)},
                          {"plain", EstimateJson(metric.plain)},
                          {"calibrated", EstimateJson(metric.calibrated)}};
    if (metric.additive) {
      entry["planned"] =
          std::isfinite(metric.planned) ? ordered_json(metric.planned) : ordered_json();
      const double covered = 1.0 - metric.uncovered_fraction;
      entry["scaled"] =
          covered > 0.0 ? ordered_json(metric.calibrated.value / covered) : ordered_json();
    }
    metrics.push_back(std::move(entry));
  }
  json["metrics"] = std::move(metrics);
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace stemtap::analysis
