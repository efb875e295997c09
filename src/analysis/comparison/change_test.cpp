// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/change_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "analysis/extrapolation/student.h"

namespace stemtap::analysis {
namespace {

// Both directions of a change are tested.
constexpr double kSides = 2.0;

std::vector<RankStratum> Swapped(std::vector<RankStratum> strata) {
  for (RankStratum& stratum : strata) std::swap(stratum.low, stratum.high);
  return strata;
}

// Returns the p-value of the hypothesis that high is at most `shift` longer than low.
double ShiftedRankP(std::vector<RankStratum> strata, double shift) {
  for (RankStratum& stratum : strata) {
    for (double& duration : stratum.high) duration -= shift;
  }
  return std::min(1.0, kSides * RankSumP(strata));
}

// Returns the largest change from low to high that the rank test does not reject, or infinity if
// there are too few values to reject any.
double LargestByRank(const std::vector<RankStratum>& strata, double level) {
  if (kSides * MinRankSumP(strata) > level) return INFINITY;
  std::vector<double> changes;  // the ranks change only at these shifts
  for (const RankStratum& from : strata) {
    for (const RankStratum& to : strata) {
      for (const double low : from.low) {
        for (const double high : to.high) changes.push_back(high - low);
      }
    }
  }
  std::erase_if(changes, [](double change) { return !std::isfinite(change); });  // durations of 0
  if (changes.empty()) return INFINITY;
  std::sort(changes.begin(), changes.end());
  changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
  const std::vector<RankStratum> swapped = Swapped(strata);
  // Returns whether a change between changes[at] and the next is rejected.
  const auto is_rejected = [&](std::size_t at) {
    const double change =
        at + 1 == changes.size() ? changes[at] + 1.0 : 0.5 * (changes[at] + changes[at + 1]);
    return ShiftedRankP(swapped, -change) <= level;
  };
  std::size_t first = 0;
  for (std::size_t end = changes.size() - 1; first < end;) {
    const std::size_t middle = first + (end - first) / 2;
    if (is_rejected(middle)) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return changes[first];
}

}  // namespace

double ChangeTest::P(double threshold) const {
  if (spreads.empty()) return NAN;
  const double shift = std::log1p(threshold) + systematic;
  const double beyond = std::fabs(change) - shift;
  if (beyond <= 0.0) return 1.0;
  double p = 0.0;
  for (const ErrorSpread& spread : spreads) {
    if (spread.variance == 0.0) continue;
    p = std::max(p, 1.0 - StudentWithin(beyond / std::sqrt(spread.variance), spread.degrees));
  }
  if (!few.empty()) p = std::max(p, ShiftedRankP(change > 0.0 ? few : Swapped(few), shift));
  return std::min(p, 1.0);
}

double ChangeTest::MinP() const {
  return few.empty() ? 0.0 : std::min(1.0, kSides * MinRankSumP(few));
}

std::pair<double, double> ChangeTest::Interval(double confidence) const {
  double half = NAN;
  for (const ErrorSpread& spread : spreads) {
    half =
        std::fmax(half, StudentQuantile(confidence, spread.degrees) * std::sqrt(spread.variance));
  }
  double lower = change - half;
  double upper = change + half;
  if (!few.empty() && !std::isnan(half)) {
    const double level = 1.0 - confidence;
    upper = std::max(upper, LargestByRank(few, level));
    lower = std::min(lower, -LargestByRank(Swapped(few), level));
  }
  return {lower - systematic, upper + systematic};
}

}  // namespace stemtap::analysis
