// SPDX-License-Identifier: Apache-2.0
//
// ChangeTest is what two runs reveal about the error of a change: it gives the p-value for any
// threshold, and an interval. SOURCE: docs/math/diff.md.
//
// UNITS: natural logarithms of ratios of durations, except for thresholds, which are relative
// changes.
//
// Two tests are exact. The rank-sum test (Wilcoxon; Mann and Whitney) also handles equal values and
// strata. It assumes nothing about the distribution of the values, so it is valid for a handful of
// launches. The runs test (Wald and Wolfowitz) shows whether consecutive values are on the same
// side of a level more often than in random order.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace stemtap::analysis {

// RankStratum is two sets of values that can be compared with each other.
struct RankStratum {
  std::vector<double> low;
  std::vector<double> high;
};

// Returns the probability that the sum of the ranks of all `high` is at least as large as it is, if
// within each stratum every assignment of its values to the two sets is equally likely. Ranks are
// among the values of all strata; equal values share their mean rank. 1 without values.
// O(n^3 m) for n values of which m are in `high`.
double RankSumP(std::span<const RankStratum> strata);

// Returns the smallest value of RankSumP for strata of these sizes. With one stratum, this is
// 1 / C(low + high, low).
double MinRankSumP(std::span<const RankStratum> strata);

// Returns the probability that `above` values above a level and `below` others are in at most
// `runs` runs (of consecutive values on one side) if all orders are equally likely. 1 if one side
// has no values. O(runs). The result is exact up to rounding for up to 1000 values.
double FewRunsP(std::size_t above, std::size_t below, std::size_t runs);

// Returns FewRunsP of the values and `level`. A value that is equal to `level` is not above it.
double FewRunsP(std::span<const double> values, double level);

// A kernel changes slowly if its groups cross their median so seldom that groups in random order do
// so with at most this probability. Smaller numbers of groups than 16 cannot reach it: the smallest
// probabilities are 33 % with 4 groups and 2.9 % with 8. With 16 groups, it is 0.9 % or less, and
// with 32, 2.3 %. An approximation that also counted 2.9 % at 8 groups and 3.2 % at 16 made the
// median interval of kernels that change between two modes 20 times per run 31 % instead of 7 %.
inline constexpr double kMaxFewRunsP = 0.025;

// If a kernel changes slowly, its mean in another run may differ by this multiple of the range
// within the runs. With 1, the totals of 28 of 540 pairs of short runs of different work have a
// verdict, with 1.5, of 20, and with 2, of 19; but with 2, fewer changes are found if clocks drift.
inline constexpr double kRangesBeyond = 1.5;

// ErrorSpread is the variance of an error and its degrees of freedom.
struct ErrorSpread {
  double variance = 0.0;
  double degrees = 0.0;
};

struct ChangeTest {
  double change = 0.0;
  std::vector<ErrorSpread> spreads = {};  // estimates of one spread; the widest counts
  double systematic = 0.0;                // error that no spread shows
  // Set if a run has so few slices that a spread may be small by chance: the durations of slices in
  // A (low) and B (high), one stratum per shape, relative to the mean of the shape in both runs.
  // The exact rank test then limits the p-value and the interval.
  std::vector<RankStratum> few = {};

  // Returns the p-value of the hypothesis that the change is at most `threshold` in either
  // direction. NaN without spreads.
  double P(double threshold) const;

  // Returns the smallest value that P can have for any durations.
  double MinP() const;

  // Returns the ends of the interval: the changes that neither a spread nor the rank test rejects.
  // Infinite if there are too few slices to reject any change. NaN without spreads.
  std::pair<double, double> Interval(double confidence) const;
};

}  // namespace stemtap::analysis
