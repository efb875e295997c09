// SPDX-License-Identifier: Apache-2.0
//
// Collapsed strata: a stratum that ended without a capture joins its neighbour that has one, the
// nearer by mean (Cochran 1977, section 5A.12), or is left uncovered. Joining adds variance,
// leaving it adds its whole time to the bound:
//
//   bound = ( z sqrt( sum V ) + sum of uncovered time ) / total time
//
// One launch of 1,000 s that was missed among a million of 1 us is 99.9 % of uncovered time, but as
// a part of the others' stratum it makes a bound of 195,800 %.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/maths/online.md, finding 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/moments.h"

namespace stemtap {

// The strata of one kernel, ascending, and how many captures count for each.
struct KernelCoverage {
  std::vector<Moments> strata;
  std::vector<std::uint64_t> had;
};

// The stratum that each stratum without a capture would join; itself where it has one, kNoHome
// where the kernel has none at all.
inline constexpr std::size_t kNoHome = ~std::size_t{0};
std::vector<std::size_t> NearestCovered(const KernelCoverage& kernel);

// By kernel and stratum: where it belongs; itself when it is left uncovered. Strata join in the
// order of the variance they bring for their time, as many as leave the bound, relative, within
// `allowed`, or else within `worth` times the least there is. What belongs together is contiguous.
struct CollapseLimits {
  double z = 0.0;
  double allowed = 0.0;
  double worth = 1.0;  // >= 1
};
std::vector<std::vector<std::size_t>> CollapseStrata(std::span<const KernelCoverage> kernels,
                                                     const CollapseLimits& limits);

}  // namespace stemtap
