// SPDX-License-Identifier: Apache-2.0
//
// FinalClusters is what the plan holds of one kernel when the run has ended: its clusters, those
// without a capture joined to others, and which captures stand for them.
//
//   by credit, made since the kernel drifted   stand for their cluster
//   ... made before                            where their cluster has none of those
//   at first sight                             where their cluster has neither, no neighbor that it
//                                              joins, and a close mean (JoinStrata); the others are
//                                              together a last cluster of their own, and stand for
//                                              themselves
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online.md, findings 3 to 5,
// docs/math/online-bound.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "online/collapse.h"
#include "online/kernel_state.h"
#include "sampling/plan_builder.h"

namespace stemtap {

// `joined`: the clusters of the kernel, joined. REQUIRES: kernel.cells() and its clusters are up to
// date.
std::vector<SampledCluster> FinalClusters(KernelState& kernel,
                                          std::span<const JointStratum> joined);

}  // namespace stemtap
