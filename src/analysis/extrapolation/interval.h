// SPDX-License-Identifier: Apache-2.0
//
// The confidence interval of an estimated total.
//
// SOURCE: docs/math/extrapolate.md
#pragma once

#include <span>
#include <vector>

#include "analysis/extrapolation/observed_cluster.h"

namespace stemtap {

// What one sample shows, compared with the curve of its kernel.
struct SeenPart {
  double fitted = 0.0;    // the kernel's curve at this duration: what a residual is relative to
  double residual = 0.0;  // of the value from the curve through the cluster's mean
  double log = 0.0;       // log of value / curve
};

// What one cluster contributes to the total and its error.
struct Part {
  double total = 0.0;    // the estimate of the cluster's total
  double swing = 0.0;    // standard deviation of its values that follows from durations, signed
  double own = 0.0;      // variance of a value because the kernel's elasticity is uncertain
  double common = 0.0;   // the same for the error that the elasticities of all kernels share
  double scale = 0.0;    // the curve at the cluster's mean duration; >= 0
  double square = 1.0;   // mean square of the curve over the cluster, relative to scale^2
  double bias = 0.0;     // of the calibrated total
  double freedom = 1.0;  // share of the degrees of freedom that the elasticity leaves
  std::vector<SeenPart> seen;
};

struct Interval {
  double lower = 0.0;  // NaN, like upper, if no interval can be given
  double upper = 0.0;
  double degrees = 0.0;  // of freedom; +inf if no spread had to be estimated
};

// The interval around `total`. REQUIRES: one part per cluster.
Interval IntervalOf(std::span<const ObservedCluster> clusters, std::span<const Part> parts,
                    double total, double confidence, double prior_degrees);

}  // namespace stemtap
