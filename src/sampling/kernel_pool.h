// SPDX-License-Identifier: Apache-2.0
//
// A pool is a set of kernels with little time that share strata: they are cut by duration, whatever
// their kernel. A run has many small kernels, and each takes at least one sample if it is not
// pooled.
//
//   kernel     launches   samples               pool       durations    launches   samples
//   copy             40         1               stratum 1  1 to 3 us         310         1
//   fill            270         1       ->      stratum 2  3 to 9 us           4         1
//   norm              4         1
//
// The bound holds for a pool as for a kernel, because it is a statement about durations. Other
// metrics per ns differ between the kernels of a stratum, which few samples do not show.
//
// SOURCE: docs/math/optimal.md, "Pooled kernels".
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stemtap::sampling {

// Returns the kernels with the largest keys that take at most `max_ns` together, ascending by
// index: in descending order of keys, each kernel that still fits. Kernels without time are left
// out. REQUIRES: as many keys as times.
std::vector<std::size_t> KernelsWithin(std::span<const double> times_ns,
                                       std::span<const double> keys, double max_ns);

// Returns the sets of kernels to try as a pool: those with the least time, and those whose samples
// cost most per ns of the kernel. Either set is the cheaper one in half of the recorded runs. Each
// takes at most `share` of the time and contains at least two kernels. `costs` contains the cost of
// each kernel's samples if it is not pooled.
std::vector<std::vector<std::size_t>> PoolCandidates(std::span<const double> times_ns,
                                                     std::span<const double> costs, double share);

}  // namespace stemtap::sampling
