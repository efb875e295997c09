// SPDX-License-Identifier: Apache-2.0
//
// PlanByMethod writes what any method chose as a Plan. A method's cluster may hold invocations of
// several kernels (PKA's do); the plan lists it under each of them, with that kernel's invocations
// and samples. Weights belong to the method's whole cluster.
#pragma once

#include <cstdint>

#include "model/plan.h"
#include "research/baselines/method.h"

namespace stemtap {

// Draws with options.seed. Source and options of the plan are the caller's to fill in; the bound is
// NaN where the method states none. Clusters without a sample count as uncovered. An error names
// what the method misses.
Result<Plan> PlanByMethod(const Profile& profile, const MethodEntry& method,
                          const SamplingOptions& options, const BasicBlockVectors* vectors);

}  // namespace stemtap
