// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/trust_report.h"

#include <algorithm>
#include <cmath>

namespace stemtap::research {
namespace {

TrustReport ReportOn(std::span<const EvaluationRow* const> rows, const Evaluation& evaluation) {
  TrustReport report;
  report.method = rows.front()->method;
  report.error_bound = rows.front()->error_bound;
  report.workloads = rows.size();
  std::vector<double> predicted;
  std::vector<double> truth;
  std::vector<double> ratios;
  double inverse_speedup = 0.0;
  double within = 0.0;
  double covered = 0.0;
  bool bounds = true;
  for (const EvaluationRow* row : rows) {
    const RunStatistics& s = row->evaluation.statistics;
    const auto total = static_cast<double>(evaluation.workloads[row->workload].total_ns);
    inverse_speedup += 1.0 / s.speedup;
    report.error += s.error.mean;
    report.max_error = std::max(report.max_error, s.error.max);
    report.s_curve.emplace_back(row->workload, s.error.mean);
    bounds = bounds && !std::isnan(s.coverage);
    within += s.coverage * static_cast<double>(s.runs);
    // 95 of 100 runs are 95 %: the tolerance keeps rounding from counting them as below the
    // confidence.
    covered += s.coverage >= evaluation.confidence - 1e-12 ? 1.0 : 0.0;
    if (!std::isnan(s.p95_over_bound)) ratios.push_back(s.p95_over_bound);
    for (const RunOutcome& run : row->evaluation.runs) {
      truth.push_back(total);
      predicted.push_back(total * (1.0 + run.error));
    }
  }
  const auto n = static_cast<double>(rows.size());
  report.speedup = n / inverse_speedup;
  report.error /= n;
  report.pearson = Pearson(predicted, truth);
  report.coverage = bounds ? within / static_cast<double>(truth.size()) : NAN;
  report.workloads_covered = bounds ? covered / n : NAN;
  report.median_p95_over_bound = Median(std::move(ratios));
  std::stable_sort(report.s_curve.begin(), report.s_curve.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  return report;
}

}  // namespace

std::vector<TrustReport> MakeTrustReports(const Evaluation& evaluation) {
  std::vector<std::vector<const EvaluationRow*>> sets;
  for (const EvaluationRow& row : evaluation.rows) {
    const auto same = std::find_if(sets.begin(), sets.end(), [&row](const auto& set) {
      return set.front()->method == row.method && set.front()->error_bound == row.error_bound;
    });
    if (same != sets.end()) {
      same->push_back(&row);
    } else {
      sets.push_back({&row});
    }
  }
  std::vector<TrustReport> reports;
  for (const auto& set : sets) reports.push_back(ReportOn(set, evaluation));
  return reports;
}

double Pearson(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 2) return NAN;
  const auto n = static_cast<double>(x.size());
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  double xx = 0.0;
  double yy = 0.0;
  double xy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  // The rounding error of the mean of equal values is not spread.
  constexpr double kNoSpread = 1e-24;
  if (xx <= kNoSpread * n * mean_x * mean_x || yy <= kNoSpread * n * mean_y * mean_y) return NAN;
  return xy / std::sqrt(xx * yy);
}

double Median(std::vector<double> values) {
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace stemtap::research
