// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/mean_change.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "analysis/extrapolation/student.h"

namespace stemtap::analysis {
namespace {

// Numbers of groups that a run is divided into. Correlation over longer times shows in fewer and
// longer groups. With two or three groups, quantiles of the t distribution are so large that the
// test misses real changes; without four, runs of a few prompts or phases get false verdicts
// (docs/math/diff.md).
constexpr std::size_t kGroupCounts[] = {kMinComparedLaunches, 8, 16, 32};

// Deviations are the contributions of the groups of a run to the relative error of its mean. They
// add up to 0. Empty if a group has no launch.
std::vector<double> Deviations(const ComparedKernel& kernel, std::size_t groups) {
  double launches = 0.0;
  double time = 0.0;
  for (const LaunchBatch& batch : kernel.batches) {
    launches += static_cast<double>(batch.launches);
    time += static_cast<double>(batch.duration_ns);
  }
  std::vector<double> deviations(groups, 0.0);
  std::vector<bool> has_launches(groups, false);
  double before = 0.0;
  for (const LaunchBatch& batch : kernel.batches) {
    const auto count = static_cast<double>(batch.launches);
    const double middle = (before + 0.5 * count) / launches;
    const auto group =
        std::min(static_cast<std::size_t>(middle * static_cast<double>(groups)), groups - 1);
    deviations[group] += static_cast<double>(batch.duration_ns) / time - count / launches;
    has_launches[group] = has_launches[group] || batch.launches != 0;
    before += count;
  }
  if (std::find(has_launches.begin(), has_launches.end(), false) != has_launches.end()) return {};
  return deviations;
}

// Spread is the variance of an error and its degrees of freedom.
struct Spread {
  double variance = 0.0;
  double degrees = 0.0;
};

// Returns the spread of a sum of deviations.
Spread SpreadOf(const std::vector<double>& deviations) {
  const auto count = static_cast<double>(deviations.size());
  double squares = 0.0;
  for (const double deviation : deviations) squares += deviation * deviation;
  return {squares * count / (count - 1.0), count - 1.0};
}

// Returns the spread of the relative error of the mean if launches were independent.
Spread IndependentSpread(const ComparedKernel& kernel) {
  const auto launches = static_cast<double>(kernel.launches);
  const double relative = kernel.stddev_ns / kernel.mean_ns();
  return {relative * relative / (launches - 1.0), launches - 1.0};
}

// Returns the sum of two independent spreads (Welch, Satterthwaite).
Spread Sum(const Spread& a, const Spread& b) {
  const double variance = a.variance + b.variance;
  if (variance == 0.0) return {0.0, std::min(a.degrees, b.degrees)};
  return {variance,
          variance * variance /
              (a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees)};
}

// Returns the spread of the change with `groups` groups; degrees 0 if a group is empty.
Spread ChangeSpread(const ComparedKernel& a, const ComparedKernel& b, std::size_t groups) {
  std::vector<double> of_a = a.batches.empty() ? std::vector<double>() : Deviations(a, groups);
  std::vector<double> of_b = b.batches.empty() ? std::vector<double>() : Deviations(b, groups);
  if ((of_a.empty() && !a.batches.empty()) || (of_b.empty() && !b.batches.empty())) return {};
  if (of_a.empty()) return Sum(IndependentSpread(a), SpreadOf(of_b));
  if (of_b.empty()) return Sum(SpreadOf(of_a), IndependentSpread(b));
  // Groups at the same place of both runs are paired, so effects that both runs have, such as a
  // slow start, cancel.
  for (std::size_t i = 0; i < groups; ++i) of_b[i] -= of_a[i];
  return SpreadOf(of_b);
}

// Returns the relative change of the mean at equal shapes: each common shape counts with the
// smaller of its numbers of launches in both runs. NaN if less than half of the time of either run
// is in common shapes.
double ChangeAtEqualShapes(const ComparedKernel& a, const ComparedKernel& b) {
  if (a.shapes.empty() || b.shapes.empty()) return b.mean_ns() / a.mean_ns() - 1.0;
  double time_a = 0.0;  // of the launches that count
  double time_b = 0.0;
  double common_a = 0.0;
  double common_b = 0.0;
  for (const auto& [shape, in_a] : a.shapes) {
    const auto found = b.shapes.find(shape);
    if (found == b.shapes.end()) continue;
    const ShapeTotals& in_b = found->second;
    const auto launches = static_cast<double>(std::min(in_a.launches, in_b.launches));
    const auto duration_a = static_cast<double>(in_a.duration_ns);
    const auto duration_b = static_cast<double>(in_b.duration_ns);
    time_a += launches * duration_a / static_cast<double>(in_a.launches);
    time_b += launches * duration_b / static_cast<double>(in_b.launches);
    common_a += duration_a;
    common_b += duration_b;
  }
  const bool is_comparable = 2.0 * common_a >= static_cast<double>(a.duration_ns) &&
                             2.0 * common_b >= static_cast<double>(b.duration_ns) && time_a > 0.0 &&
                             time_b > 0.0;
  return is_comparable ? time_b / time_a - 1.0 : NAN;
}

// Returns the relative error of the ratio of the means that rounding can cause.
double RoundingError(const ComparedKernel& a, const ComparedKernel& b) {
  return a.rounding_ns / a.mean_ns() + b.rounding_ns / b.mean_ns();
}

// ChangeTest is what an interval and a p-value depend on, besides the spread.
struct ChangeTest {
  double confidence;
  double threshold;
  double rounding;
};

// Widens the interval and the p-value of `change` to `spread`.
void Widen(const Spread& spread, const ChangeTest& test, MeanChange& change) {
  const double center = std::log1p(change.relative);
  const double error = std::sqrt(spread.variance);
  const double half = StudentQuantile(test.confidence, spread.degrees) * error + test.rounding;
  const double beyond = std::fabs(center) - std::log1p(test.threshold) - test.rounding;
  const double p = beyond <= 0.0  ? 1.0
                   : error == 0.0 ? 0.0
                                  : 1.0 - StudentWithin(beyond / error, spread.degrees);
  change.p = std::fmax(change.p, p);
  change.lower = std::fmin(change.lower, std::expm1(center - half));
  change.upper = std::fmax(change.upper, std::expm1(center + half));
}

}  // namespace

MeanChange CompareMeans(const ComparedKernel& a, const ComparedKernel& b, double confidence,
                        double threshold) {
  MeanChange change;
  if (a.duration_ns == 0 || b.duration_ns == 0) return change;
  change.of_mean = b.mean_ns() / a.mean_ns() - 1.0;
  change.relative = ChangeAtEqualShapes(a, b);
  if (std::isnan(change.relative)) return change;
  if (std::min(a.launches, b.launches) < kMinComparedLaunches) return change;
  const ChangeTest test = {confidence, threshold, RoundingError(a, b)};
  if (a.batches.empty() && b.batches.empty()) {
    Widen(Sum(IndependentSpread(a), IndependentSpread(b)), test, change);
    change.assumes_independence = true;
    return change;
  }
  bool found = false;
  for (const std::size_t groups : kGroupCounts) {
    const Spread spread = ChangeSpread(a, b, groups);
    if (spread.degrees == 0.0) break;
    found = true;
    Widen(spread, test, change);
  }
  change.assumes_independence = found && (a.batches.empty() || b.batches.empty());
  return change;
}

}  // namespace stemtap::analysis
