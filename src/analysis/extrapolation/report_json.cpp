// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/extrapolation/report.h"
#include "analysis/extrapolation/report_cells.h"

namespace stemtap::analysis {
namespace {

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

}  // namespace stemtap::analysis
