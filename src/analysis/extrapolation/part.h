// SPDX-License-Identifier: Apache-2.0
//
// Part is the contribution of one cluster to an estimated total and to its error.
//
// SOURCE: docs/math/extrapolate.md
#pragma once

#include <vector>

namespace stemtap::analysis {

// SeenPart is one sample relative to the curve of its kernel.
struct SeenPart {
  double fitted = 0.0;  // the kernel's curve at this duration; residuals are relative to it
  // Value minus the curve through the cluster's mean, or through the mean of the single samples of
  // the kernel's clusters.
  double residual = 0.0;
  double log = 0.0;  // log of value / curve
};

struct Part {
  double total = 0.0;    // estimate of the cluster's total
  double mean = 0.0;     // estimate of the cluster's mean value, in and outside the domain
  double swing = 0.0;    // signed standard deviation of its values that is due to durations
  double own = 0.0;      // variance of a value due to the error of the kernel's own elasticity
  double common = 0.0;   // variance of a value due to the elasticity error that all kernels share
  double scale = 0.0;    // the curve at the cluster's mean duration; >= 0
  double square = 1.0;   // mean square of the curve over the cluster, relative to scale^2
  double bias = 0.0;     // of the calibrated total
  double freedom = 1.0;  // share of the degrees of freedom that the elasticity does not use
  double singles_leverage = 0.0;  // degrees that the slopes use of the kernel's single samples
  std::vector<SeenPart> seen;
};

}  // namespace stemtap::analysis
