// SPDX-License-Identifier: Apache-2.0
//
// A domain is a part of the run whose total is estimated: the launches of a kernel, or the launches
// in a range. Samples outside the domain count as 0, and their values still show the spread.
//
// SOURCE: Cochran 1977, section 5A.14; docs/math/extrapolate.md
#pragma once

#include <cstddef>
#include <span>

#include "analysis/extrapolation/observed_cluster.h"

namespace stemtap::analysis {

// Limits the domain to the clusters of one kernel.
void SelectKernel(std::span<ObservedCluster> clusters, std::size_t kernel);

// Estimates the share of each cluster in the domain from ObservedSample::in_domain.
void EstimateShares(std::span<ObservedCluster> clusters);

}  // namespace stemtap::analysis
