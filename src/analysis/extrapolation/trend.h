// SPDX-License-Identifier: Apache-2.0
//
// Trend is how much a metric rises or falls during the run, relative to the curves of the kernels:
// one slope that all kernels share. The samples of an online plan are not spread evenly over the
// launches that they represent, so their mean position in the run differs from the mean position of
// these launches. The trend is removed from the values of the samples, and its error is part of the
// interval.
//
// UNITS: a position is a launch index divided by the number of launches of the run, 0 to 1.
// SOURCE: docs/math/extrapolate.md, "Trends".
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "analysis/extrapolation/observed.h"

namespace stemtap::analysis {

struct Trend {
  double slope = 0.0;     // change over the whole run, relative to the value at `center`
  double variance = 0.0;  // of the slope
  double degrees = std::numeric_limits<double>::infinity();  // degrees of freedom of `variance`
  double center = 0.5;                                       // mean position of the samples

  // Returns the value at a position, relative to the value at `center`.
  double FactorAt(double position) const;
};

// Returns whether the estimate depends on a trend: a cluster has a mean position.
bool DependsOnTrend(std::span<const ObservedCluster> clusters);

// Returns the clusters with all values as they would be at the center of the trend.
std::vector<ObservedCluster> AtCenter(std::span<const ObservedCluster> clusters,
                                      const Trend& trend);

// Returns the clusters with the values as they would be at the mean position of their cluster, if
// it has one.
std::vector<ObservedCluster> AtMeanPositions(std::span<const ObservedCluster> clusters,
                                             const Trend& trend);

// Improves the slope. `centered` is AtCenter of the clusters with this trend, and `parts` compares
// it with the curves. Also sets the variance and the center.
void ImproveTrend(std::span<const ObservedCluster> centered, std::span<const Part> parts,
                  Trend& trend);

// Returns the slope and its variance moderated by a prior: most metrics hardly change. If the
// variance is infinite, only the prior counts.
Trend Moderated(const Trend& trend);

// Returns the change of the estimated total per change of the slope.
double SlopeLever(std::span<const ObservedCluster> clusters, std::span<const Part> parts);

}  // namespace stemtap::analysis
