// SPDX-License-Identifier: Apache-2.0
//
// Photon's kernel sampling processes launches in order. It skips a launch whose GPU basic-block
// vector is near the vector of an earlier sample and samples every other launch.
//
//   GPU vector     the kinds of warps by descending share, concatenated; the block counts of each
//                  kind are scaled to length 1 and then by its share of the warps
//   near           Euclidean distance below 0.05, and equal numbers of warps if either launch has
//                  fewer warps than fill the GPU
//   several near   the sample with the most similar number of warps, then the nearest, then the
//                  earliest
//   weight         each skipped launch adds its instructions / instructions of the sample (equal
//                  CPI), or 1 if instructions are unknown
//
// COST: distinct vectors x samples comparisons.  UNITS: method.h.
// SOURCE: Liu et al., Photon (MICRO 2023) section 4.3; docs/math/baselines.md.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap::research {

// The paper's 5 %. A smaller value samples more; 0.05 of the maximum distance, sqrt(2), is nearly
// the same path through the kernel.
inline constexpr double kPhotonDistance = 0.05;

// Warps that fill the GPU: 64 compute units of 40 warps, the R9 Nano that the paper simulates. With
// fewer warps, their number affects the duration of a kernel, not only what each warp does.
inline constexpr std::uint64_t kPhotonFullGpuWarps = 2560;

// An error reports that there are no vectors, or which launch has none.
Result<std::unique_ptr<PreparedMethod>> PreparePhoton(const MethodInput& input);

}  // namespace stemtap::research
