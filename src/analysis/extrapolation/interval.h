// SPDX-License-Identifier: Apache-2.0
//
// IntervalOf computes the confidence interval of an estimated total.
//
// SOURCE: docs/math/extrapolate.md
#pragma once

#include <limits>
#include <span>

#include "analysis/extrapolation/observed.h"

namespace stemtap::analysis {

struct Interval {
  double lower = 0.0;  // NaN, like upper, if no interval can be given
  double upper = 0.0;
  double degrees = 0.0;  // degrees of freedom; +inf if no spread had to be estimated
};

// TrendError is the error of the total due to the error of the metric's trend (trend.h).
struct TrendError {
  double variance = 0.0;
  double degrees = std::numeric_limits<double>::infinity();
};

// Returns the interval around `total`. `one_sign`: the metric has no values of different signs, so
// they may differ by factors. REQUIRES: one part per cluster.
Interval IntervalOf(std::span<const ObservedCluster> clusters, std::span<const Part> parts,
                    double total, double confidence, double prior_degrees, bool one_sign,
                    const TrendError& trend = {});

}  // namespace stemtap::analysis
