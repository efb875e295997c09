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

// Adds a second sample to the cheapest narrow clusters with a single sample, until enough clusters
// have several samples or the added samples would cost more than a limited share of what the plan
// costs. `fixed_ns` is the cost of a sample besides its duration (CapturePrice::FixedPerFactor).
// Returns the number of added samples. `kernels`: strata by kernel, with their sizes.
std::size_t AddSpreadPairs(std::span<std::vector<StratumRange>> kernels, double fixed_ns = 0.0);

}  // namespace stemtap::sampling
