// SPDX-License-Identifier: Apache-2.0
//
// ObservedCluster contains the values of a metric for the samples of a cluster. Part is the
// contribution of a cluster to an estimated total and to its error.
//
// A domain is a part of the run whose total is estimated: the launches of a kernel, or the launches
// in a range. Samples outside the domain count as 0, and their values still show the spread.
//
// UNITS: durations in ns, values in the metric's own unit.
// SOURCE: docs/math/extrapolate.md; domains: Cochran 1977, section 5A.14.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace stemtap::analysis {

struct ObservedSample {
  double duration_ns = 0.0;  // native
  double value = 0.0;
  bool in_domain = true;  // belongs to the part of the run whose total is estimated
  double position = 0.0;  // launch index / number of launches of the run
};

struct ObservedCluster {
  std::size_t kernel = 0;  // clusters of a kernel are adjacent, in ascending order of duration
  double count = 0.0;
  double mean_ns = 0.0;
  double stddev_ns = 0.0;  // population
  std::vector<ObservedSample> seen;
  // Mean position of the launches; NaN if the samples are equally likely to be any of them.
  double mean_position = std::numeric_limits<double>::quiet_NaN();
  double share = 1.0;   // share of the launches in the domain
  double mixing = 0.0;  // variance of the membership (0 or 1) of a launch in the domain
  bool pooled = false;  // contains launches of several kernels (model::PlanKernel::pooled)
};

// Returns one span per kernel.
std::vector<std::span<const ObservedCluster>> ByKernel(std::span<const ObservedCluster> clusters);

// Returns the share of the launches that were not sampled.
double UnseenShare(const ObservedCluster& cluster);

// Returns whether the cluster has one sample, which represents other launches too.
bool IsSingle(const ObservedCluster& cluster);

// Returns the log of a duration in ns; durations below 1 ns count as 1 ns.
double LogDuration(double duration_ns);

// Returns the coefficient of variation of the durations.
double RelativeWidth(const ObservedCluster& cluster);

// Returns the log of the relative width, limited to widths from 0.01 to 2: narrower clusters are
// constant, and wider clusters have outliers. Two effects of width use it: the elasticity of values
// (Curve::tilt) and their spread (SpreadTilt) may differ between narrow and wide clusters. Each is
// one slope per unit of log width, common to all kernels.
double LogWidth(const ObservedCluster& cluster);

// Limits the domain to the clusters of one kernel.
void SelectKernel(std::span<ObservedCluster> clusters, std::size_t kernel);

// Estimates the share of each cluster in the domain from ObservedSample::in_domain.
void EstimateShares(std::span<ObservedCluster> clusters);

// SeenPart is one sample relative to the curve of its kernel.
struct SeenPart {
  double fitted = 0.0;  // the kernel's curve at this duration; residuals are relative to it
  // Value minus the curve through the cluster's mean, or through the mean of the single samples of
  // the kernel's clusters.
  double residual = 0.0;
  double log = 0.0;  // log of value / curve
};

// Part is the contribution of one cluster to an estimated total and to its error.
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
