// SPDX-License-Identifier: Apache-2.0
//
// The total of a metric over a run, or the ratio of two totals, from its values on the samples of
// each cluster, with a confidence interval.
//
//   plain        sum_h N_h / n_h * sum y                              unbiased
//   calibrated   sum_h N_h / n_h * sum y / (1 - a + a * mean sampled d / mu_h)
//
// a in [0, 1] is the elasticity of y within the cluster, estimated from the samples of all clusters:
// 1 gives the ratio estimator, 0 the plain one.
//
// n_h counts the samples that have a result, which corrects for missing results within a cluster. A
// cluster without any result is left out, and its share of native time is stated as uncovered.
//
// The interval is Student's t times the standard error, which is estimated from the differences
// within clusters. Clusters with a single sample borrow the spread of the others. The interval is
// centered on the total minus its estimated bias. If values are skewed, it extends further on the
// side of the tail. It holds for random samples of each cluster, and knows nothing of values that no
// sample shows.
//
// UNITS: durations in ns, values in the metric's own. SOURCE: docs/math/extrapolate.md, which has
// the measured coverage.
#pragma once

#include <span>

#include "analysis/extrapolation/observed_cluster.h"
#include "sampling/weights.h"

namespace stemtap {

// How many degrees of freedom the spread of all kernels lends each kernel's own. Chosen by measured
// coverage (docs/math/extrapolate.md).
inline constexpr double kPriorDegrees = 1.0;

struct Estimate {
  double value = 0.0;
  double half_width = 0.0;  // the longer side of the interval around it; NaN: none can be given
  double lower = 0.0;       // its ends: lower <= value <= upper
  double upper = 0.0;
  double degrees = 0.0;  // of freedom; +inf where no spread had to be estimated
};

// Total over the clusters that were seen. REQUIRES: 0 < confidence < 1.
Estimate EstimateTotal(std::span<const ObservedCluster> clusters, Weights weights,
                       double confidence, double prior_degrees = kPriorDegrees);

// Ratio of two totals, by the delta method. REQUIRES: the same clusters and samples in both. NaN for
// a denominator of 0.
Estimate EstimateRatio(std::span<const ObservedCluster> numerator,
                       std::span<const ObservedCluster> denominator, Weights weights,
                       double confidence, double prior_degrees = kPriorDegrees);

}  // namespace stemtap
