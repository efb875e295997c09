// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "analysis/extrapolation/report.h"
#include "analysis/extrapolation/report_cells.h"
#include "base/csv.h"

namespace stemtap::analysis {
namespace {

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

}  // namespace

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
