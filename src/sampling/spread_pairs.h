// SPDX-License-Identifier: Apache-2.0
//
// AddSpreadPairs buys knowledge about metrics other than time: second samples in narrow clusters.
// The spread of durations is known, so a plan for time has one sample in most clusters. The spread
// of another metric is only visible in clusters with several samples, and without it extrapolate
// can give only a very wide interval, or none.
//
// SOURCE: docs/math/optimal.md, "Pairs".
#pragma once

#include <span>
#include <vector>

#include "sampling/stratify.h"

namespace stemtap::sampling {

// Number of narrow clusters with several samples that is enough. Student's quantile at 95 % is then
// at most 1.08 times the normal quantile; 8 clusters: 1.18 times.
inline constexpr std::size_t kSpreadPairs = 16;

// Returns whether a cluster is narrow: the values of wide clusters differ because of their
// durations, and their residuals do not describe narrow clusters.
bool IsNarrow(double mean_ns, double stddev_ns);

// Adds a second sample to the cheapest narrow clusters with a single sample, until enough clusters
// have several samples or the added samples would cost more than a limited share of what the plan
// costs. `fixed_ns` is the cost of a sample besides its duration (CapturePrice::FixedPerFactor).
// Returns the number of added samples. `kernels`: strata by kernel, with their sizes.
std::size_t AddSpreadPairs(std::span<std::vector<StratumRange>> kernels, double fixed_ns = 0.0);

}  // namespace stemtap::sampling
