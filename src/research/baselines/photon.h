// SPDX-License-Identifier: Apache-2.0
//
// Photon's kernel sampling: launches are taken in order, and one whose GPU basic-block vector is
// near that of a launch sampled before is skipped; every other is sampled.
//
//   GPU vector     the kinds of warps by falling share, each kind's block counts scaled to length 1 and
//                  then by its share of the warps, one behind the other
//   near           Euclidean distance below 0.05, and equal numbers of warps where either launch has
//                  fewer than fill the GPU
//   of several     that with the most similar number of warps, then the nearest, then the earliest
//   weight         each launch skipped adds its instructions / those of the sampled one (equal CPI); 1
//                  where instructions are unknown
//
// COST: different vectors x samples comparisons.  UNITS: method.h.
// SOURCE: Liu et al., Photon (MICRO 2023) section 4.3; docs/math/baselines.md.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap {

// The paper's 5 %. Smaller samples more; 0.05 of the largest distance, sqrt(2), is nearly the same
// path through the kernel.
inline constexpr double kPhotonDistance = 0.05;

// Warps that fill the GPU: 64 compute units of 40, the R9 Nano that the paper simulates. With
// fewer, their number decides how long a kernel takes, not only what each warp does.
inline constexpr std::uint64_t kPhotonFullGpuWarps = 2560;

// An error says that there are no vectors, or which invocation has none.
Result<std::unique_ptr<PreparedMethod>> PreparePhoton(const MethodInput& input);

}  // namespace stemtap
