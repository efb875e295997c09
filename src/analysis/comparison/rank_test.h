// SPDX-License-Identifier: Apache-2.0
//
// The exact rank-sum test (Wilcoxon; Mann and Whitney), also for equal values and for strata. It
// assumes nothing about the distribution of the values, so it is valid for a handful of launches.
// SOURCE: docs/math/diff.md.
#pragma once

#include <span>
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

}  // namespace stemtap::analysis
