// SPDX-License-Identifier: Apache-2.0
//
// ChangeTest is what two runs reveal about the error of a change: it gives the p-value for any
// threshold, and an interval. SOURCE: docs/math/diff.md.
//
// UNITS: natural logarithms of ratios of durations, except for thresholds, which are relative
// changes.
#pragma once

#include <utility>
#include <vector>

#include "analysis/comparison/rank_test.h"

namespace stemtap::analysis {

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
