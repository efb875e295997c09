// SPDX-License-Identifier: Apache-2.0
//
// IntervalOf computes the confidence interval of an estimated total.
//
// SOURCE: docs/math/extrapolate.md
#pragma once

#include <span>
#include <vector>

#include "analysis/extrapolation/observed_cluster.h"

namespace stemtap::analysis {

// SeenPart is one sample relative to the curve of its kernel.
struct SeenPart {
  double fitted = 0.0;    // the kernel's curve at this duration; residuals are relative to it
  double residual = 0.0;  // value minus the curve through the cluster's mean
  double log = 0.0;       // log of value / curve
};

// Part is the contribution of one cluster to the total and its error.
struct Part {
  double total = 0.0;    // estimate of the cluster's total
  double swing = 0.0;    // signed standard deviation of its values that is due to durations
  double own = 0.0;      // variance of a value due to the error of the kernel's own elasticity
  double common = 0.0;   // variance of a value due to the elasticity error that all kernels share
  double scale = 0.0;    // the curve at the cluster's mean duration; >= 0
  double square = 1.0;   // mean square of the curve over the cluster, relative to scale^2
  double bias = 0.0;     // of the calibrated total
  double freedom = 1.0;  // share of the degrees of freedom that the elasticity does not use
  std::vector<SeenPart> seen;
};

struct Interval {
  double lower = 0.0;  // NaN, like upper, if no interval can be given
  double upper = 0.0;
  double degrees = 0.0;  // degrees of freedom; +inf if no spread had to be estimated
};

// Returns the interval around `total`. REQUIRES: one part per cluster.
Interval IntervalOf(std::span<const ObservedCluster> clusters, std::span<const Part> parts,
                    double total, double confidence, double prior_degrees);

}  // namespace stemtap::analysis
