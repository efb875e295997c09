// SPDX-License-Identifier: Apache-2.0
//
// RepresentativeMethod is the shape of the methods that let one invocation stand for its cluster
// (pka, sieve, photon, tbpoint): the same for every seed, and without a bound, because one
// invocation says nothing about how far the others are from it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "research/baselines/method.h"

namespace stemtap {

// `cluster_of` by invocation, dense from 0, kExcludedKernel for the excluded;
// `representatives[c]` stands for cluster c.
std::unique_ptr<PreparedMethod> MakeRepresentativeMethod(
    std::vector<std::uint32_t> cluster_of, std::vector<WeightedInvocation> representatives);

}  // namespace stemtap
