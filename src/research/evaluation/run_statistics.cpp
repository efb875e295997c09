// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/run_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace stemtap::research {
namespace {

std::vector<double> Column(std::span<const RunOutcome> runs, double RunOutcome::*member) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunOutcome& run : runs) values.push_back(run.*member);
  return values;
}

}  // namespace

double QuantileByRank(std::span<const double> values, double quantile) {
  if (values.empty()) return NAN;
  std::vector<double> copy(values.begin(), values.end());
  // 0.95 * 20 is slightly more than 19 in doubles and would select the 20th value.
  const double rank = std::ceil(quantile * static_cast<double>(copy.size()) - 1e-9);
  const auto at =
      static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(copy.size())) - 1.0);
  std::nth_element(copy.begin(), copy.begin() + static_cast<std::ptrdiff_t>(at), copy.end());
  return copy[at];
}

ErrorStatistics StatisticsOf(std::span<const double> errors) {
  ErrorStatistics s;
  if (errors.empty()) return s;
  std::vector<double> sizes;
  sizes.reserve(errors.size());
  for (const double e : errors) {
    sizes.push_back(std::fabs(e));
    s.mean += sizes.back();
    s.bias += e;
    s.max = std::max(s.max, sizes.back());
  }
  s.mean /= static_cast<double>(errors.size());
  s.bias /= static_cast<double>(errors.size());
  s.p95 = QuantileByRank(sizes, 0.95);
  return s;
}

RunStatistics StatisticsOf(std::span<const RunOutcome> runs, double total_ns) {
  RunStatistics s;
  s.runs = runs.size();
  if (runs.empty()) return s;
  double covered = 0.0;
  for (const RunOutcome& run : runs) {
    s.sampled_ns += run.sampled_ns;
    s.samples += static_cast<double>(run.samples);
    s.clusters += static_cast<double>(run.clusters);
    s.uncovered += run.uncovered;
    s.bound += run.bound;  // one NaN makes the sum NaN: a method certifies all bounds or none
    covered += std::fabs(run.error) <= run.bound + kRoundingSlack ? 1.0 : 0.0;
  }
  const auto n = static_cast<double>(runs.size());
  s.sampled_ns /= n;
  s.samples /= n;
  s.clusters /= n;
  s.uncovered /= n;
  s.bound /= n;
  s.coverage = std::isnan(s.bound) ? NAN : covered / n;
  s.speedup = s.sampled_ns > 0.0 ? total_ns / s.sampled_ns : INFINITY;
  s.error = StatisticsOf(Column(runs, &RunOutcome::error));
  s.against_plain = StatisticsOf(Column(runs, &RunOutcome::against_plain));
  s.against_calibrated = StatisticsOf(Column(runs, &RunOutcome::against_calibrated));
  s.p95_over_bound = s.bound > 0.0 ? s.error.p95 / s.bound : NAN;
  return s;
}

void Judge(const EvaluatedRun& workload, std::span<const JudgedInvocation> sample,
           RunOutcome& outcome) {
  double sampled = 0.0;
  double plain = 0.0;
  double against_plain = 0.0;
  double against_calibrated = 0.0;
  const bool other = !workload.against_ns.empty();
  for (const JudgedInvocation& s : sample) {
    const auto own = static_cast<double>(workload.profile.records[s.index].duration_ns);
    const double judged = other ? static_cast<double>(workload.against_ns[s.index]) : own;
    sampled += own;
    plain += s.plain * own;
    against_plain += s.plain * judged;
    against_calibrated += s.calibrated * judged;
  }
  const auto total = static_cast<double>(workload.total_ns);
  const double judged_total = other ? static_cast<double>(workload.against_total_ns) : total;
  outcome.sampled_ns = sampled;
  outcome.samples = sample.size();
  outcome.error = plain / total - 1.0;
  outcome.against_plain = against_plain / judged_total - 1.0;
  outcome.against_calibrated = against_calibrated / judged_total - 1.0;
}

}  // namespace stemtap::research
