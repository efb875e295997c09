// SPDX-License-Identifier: Apache-2.0
//
// TBPoint's inter-launch sampling clusters the launches of each kernel hierarchically by
//
//   kernel launch size         instructions executed by threads
//   control flow divergence    instructions executed by warps
//   memory divergence          memory requests: sectors of global and local accesses
//   thread block variation     CoV of the instructions of its thread blocks, if known
//
// each divided by the kernel's average, with a distance threshold of 0.1. The launch nearest to the
// center of its cluster is sampled; its weight is the cluster's size.
//
// UNITS: method.h.  SOURCE: Huang, Nai, Kim and Lee, TBPoint (IPDPS 2014); docs/math/baselines.md.
#pragma once

#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap::research {

// Launches in one cluster differ by at most 10 % of the average in any feature. A larger value
// gives fewer, more mixed clusters.
inline constexpr double kTbpointDistance = 0.1;

// An error lists the missing columns, or names a kernel with more distinct launches than can be
// clustered (complete_linkage.h).
Result<std::unique_ptr<PreparedMethod>> PrepareTbpoint(const MethodInput& input);

}  // namespace stemtap::research
