// SPDX-License-Identifier: Apache-2.0
//
// Spread is the relative variance of a metric in one cluster, or between the clusters of a kernel
// that have one sample each. Spreads are relative to the kernel's curve (curve.h). The clusters of
// a pool contain launches of several kernels, so the differences between the other kernels are a
// spread of the pool too.
//
// SOURCE: docs/math/extrapolate.md
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/extrapolation/observed.h"

namespace stemtap::analysis {

struct Spread {
  double variance = 0.0;
  double log_variance = 0.0;  // of the logs of the values
  double degrees = 0.0;
  double log_width = 0.0;  // see LogWidth
  std::size_t kernel = 0;
  bool collapsed = false;  // between clusters
  bool pooled = false;     // of a pool
};

// SpreadTilt is the change of relative variance with the width of clusters: the factor between two
// clusters of a kernel is e^(slope * difference of their log widths).
struct SpreadTilt {
  double slope = 0.0;
  double center = 0.0;  // mean log width

  double FactorAt(double log_width) const;
};

// Returns the spreads of all kernels; spreads of a kernel are adjacent. `parts` has one element per
// cluster, in the order of `kernels`.
std::vector<Spread> SpreadsOf(std::span<const std::span<const ObservedCluster>> kernels,
                              std::span<const Part> parts);

SpreadTilt FitSpreadTilt(std::span<const Spread> spreads);

}  // namespace stemtap::analysis
