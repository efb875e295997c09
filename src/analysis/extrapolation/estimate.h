// SPDX-License-Identifier: Apache-2.0
//
// EstimateTotal and EstimateRatio estimate the total of a metric over a run, or the ratio of two
// totals, with a confidence interval, from the values of each cluster's samples.
//
//   plain        sum_h N_h / n_h * sum y                              unbiased
//   calibrated   sum_h N_h / n_h * sum y / (1 - a + a * mean sampled d / mu_h)
//
// a is the elasticity of y within the cluster, estimated from the samples of all clusters and
// limited to [0, 1]: 1 gives the ratio estimator, 0 the plain estimator.
//
// n_h counts the samples with a result, which corrects for missing results within a cluster.
// Clusters without results are left out, and their share of native time is reported as uncovered.
//
// The interval is Student's t times the standard error, which is estimated from the differences
// within clusters, and between clusters with a single sample. The interval is centered on the total
// minus its estimated bias. If values are skewed, it extends further on the side of the tail. If no
// value is negative, it ends at the sum of the sampled values. It is valid for random samples of
// each cluster and cannot account for values that are absent from the samples.
//
// A domain is a part of the run: samples outside it count as 0 (ObservedSample::in_domain), but
// their values still show the spread.
//
// UNITS: durations in ns, values in the metric's own. SOURCE: docs/math/extrapolate.md, which has
// the measured coverage.
#pragma once

#include <span>

#include "analysis/extrapolation/observed.h"

namespace stemtap::analysis {

// Number of degrees of freedom that the pooled spread of all kernels adds to the spread of each
// kernel. Chosen by measured coverage (docs/math/extrapolate.md).
inline constexpr double kPriorDegrees = 1.0;

// Calibration selects the elasticity `a`.
enum class Calibration {
  kPlain,       // 0
  kFitted,      // estimated from the samples
  kByDuration,  // 1: samples are weighted by the time of their cluster
};

// RatioCalibration is the calibration of the numerator and of the denominator of a ratio.
struct RatioCalibration {
  Calibration numerator = Calibration::kFitted;
  Calibration denominator = Calibration::kFitted;
};

struct Estimate {
  double value = 0.0;
  double half_width = 0.0;  // the longer side of the interval; NaN if there is no interval
  double lower = 0.0;       // ends of the interval: lower <= value <= upper
  double upper = 0.0;
  double degrees = 0.0;  // degrees of freedom; +inf if no spread had to be estimated
};

// Returns the total over the clusters with results. REQUIRES: 0 < confidence < 1.
Estimate EstimateTotal(std::span<const ObservedCluster> clusters, Calibration calibration,
                       double confidence, double prior_degrees = kPriorDegrees);

// Returns the ratio of two totals, with an interval by the delta method; NaN if the denominator is
// 0. REQUIRES: the same clusters and samples in both.
Estimate EstimateRatio(std::span<const ObservedCluster> numerator,
                       std::span<const ObservedCluster> denominator, RatioCalibration calibration,
                       double confidence, double prior_degrees = kPriorDegrees);

}  // namespace stemtap::analysis
