// SPDX-License-Identifier: Apache-2.0
//
// RepresentativeMethod is the base of methods that represent each cluster by one launch (pka,
// sieve, photon, tbpoint). The sample is the same for every seed, and there is no bound, because
// one launch contains no information about the spread of its cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "research/baselines/method.h"

namespace stemtap::research {

// `cluster_of` is by launch, dense from 0, kExcludedKernel for excluded launches;
// `representatives[c]` represents cluster c.
std::unique_ptr<PreparedMethod> MakeRepresentativeMethod(
    std::vector<std::uint32_t> cluster_of, std::vector<WeightedInvocation> representatives);

}  // namespace stemtap::research
