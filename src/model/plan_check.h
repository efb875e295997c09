// SPDX-License-Identifier: Apache-2.0
//
// CheckPlan checks whether a plan from a file is consistent. All readers of plan.json compute with
// its numbers, and an inconsistent plan produces plausible but wrong results. Every plan that
// stemtap writes satisfies the rules, which are listed in docs/formats/plan.md.
#pragma once

#include <string>

#include "model/plan.h"

namespace stemtap::model {

// Returns the first inconsistency, such as "kernels[0].clusters[1].count: is 3; expected at least
// 4", or an empty string.
std::string CheckPlan(const Plan& plan);

}  // namespace stemtap::model
