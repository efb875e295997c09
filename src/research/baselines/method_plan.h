// SPDX-License-Identifier: Apache-2.0
//
// PlanByMethod writes the samples of any method as a Plan. A method's cluster may contain launches
// of several kernels (as in PKA); the plan lists the cluster under each kernel, with that kernel's
// launches and samples. Weights refer to the method's whole cluster.
#pragma once

#include <cstdint>

#include "model/plan.h"
#include "research/baselines/method.h"

namespace stemtap::research {

// Draws with options.seed. The caller fills in the source and options of the plan; the bound is NaN
// if the method states none. Clusters without a sample count as uncovered. An error lists the input
// that the method lacks.
Result<model::Plan> PlanByMethod(const model::Profile& profile, const MethodEntry& method,
                                 const sampling::SamplingOptions& options,
                                 const BasicBlockVectors* vectors);

}  // namespace stemtap::research
