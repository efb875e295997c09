// SPDX-License-Identifier: Apache-2.0
//
// PoolPlan makes the plan of a job whose runs shared their captures: the launches of all runs are
// one population, cut into the clusters that were in force, and a cluster is represented by the
// captures of all runs. So the errors of the runs average out, and no run needs captures of each
// cluster.
//
// THREADS: none.  SOURCE: docs/design/fleet.md.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/job.h"
#include "model/plan.h"
#include "sampling/sampling_options.h"

namespace stemtap::fleet {

// `merged` is the plan of all runs (sampling::MergePlans), with the sessions in the order of
// `runs`; its sessions, options and losses are kept. Fails if `runs` and `merged` have different
// launches of a kernel, or if the captures cannot be of its sessions.
Result<model::Plan> PoolPlan(const model::Plan& merged, std::span<const RunState> runs,
                             std::span<const DirectedKernel> clusters);

}  // namespace stemtap::fleet
