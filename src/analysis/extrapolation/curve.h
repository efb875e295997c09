// SPDX-License-Identifier: Apache-2.0
//
// Curve describes how the values of a metric depend on duration, within the clusters of a kernel
// and between its clusters. It is fitted to the logs of the values and durations of the samples.
//
// SOURCE: docs/math/extrapolate.md
#pragma once

#include <span>
#include <vector>

#include "analysis/extrapolation/observed.h"

namespace stemtap::analysis {

struct Curve {
  double within = 1.0;            // elasticity within clusters of width `log_width`
  double borrowed = 0.0;          // share of `within` that comes from the other kernels
  double own_variance = 0.0;      // variance of `within` due to this kernel's samples
  double common_variance = 0.0;   // variance of `within` due to an error that all kernels share
  double leverage = 0.0;          // degrees of freedom that `within` uses
  double singles_leverage = 0.0;  // degrees of freedom of the single samples that slopes use
  double log_width = 0.0;         // mean over the samples behind `within` (LogWidth)
  double tilt = 0.0;              // change of the elasticity per unit of log width, all kernels
  double tilt_variance = 0.0;
  double between = 1.0;       // exponent of the curve through the means of clusters
  double log_factor = 0.0;    // mean log of the values; -inf if all are 0
  double log_duration = 0.0;  // mean log of the mean durations of the samples' clusters
  double floor = 0.0;         // lower limit of values before their log is taken

  // Return the elasticity within a cluster, and the variance of its error that all kernels share.
  double WithinAt(const ObservedCluster& cluster) const;
  double CommonVarianceAt(const ObservedCluster& cluster) const;
  // Returns the log of the curve at the mean duration of a cluster.
  double LogMean(const ObservedCluster& cluster) const;
  // Returns the log of the curve at a duration, relative to the curve at the cluster's mean
  // duration. The curve is linear if the elasticity is in [0, 1] and a power otherwise, because a
  // line would become negative.
  double LogShape(const ObservedCluster& cluster, double duration_ns) const;
  double LogValue(double value) const;
};

// Returns one curve per kernel. REQUIRES: `kernels` is a result of ByKernel.
std::vector<Curve> FitCurves(std::span<const std::span<const ObservedCluster>> kernels);

}  // namespace stemtap::analysis
