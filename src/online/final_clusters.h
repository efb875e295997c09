// SPDX-License-Identifier: Apache-2.0
//
// FinalClusters computes the clusters of one kernel for the plan at the end of the run: it joins
// clusters and periods without a capture to others and assigns the captures.
//
//   by credit, used       represent their cluster in the periods around theirs (JoinStrata)
//   exploratory           represent their cluster if it has none by credit, joins no neighbor, and
//                         has a close mean
//   all others            form one last cluster that represents only itself
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

namespace stemtap::online {

// `joined` is the result of JoinStrata for the clusters of the kernel. REQUIRES: kernel.cells() and
// the clusters are up to date.
std::vector<sampling::SampledCluster> FinalClusters(const KernelState& kernel,
                                                    std::span<const JointStratum> joined);

}  // namespace stemtap::online
