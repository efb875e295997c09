// SPDX-License-Identifier: Apache-2.0
//
// CheckPlan decides whether a plan that was read from a file is consistent: every reader of plan.json
// computes with its numbers, and a plan that contradicts itself gives results that look right. The
// rules hold for every plan that stemtap writes; docs/formats/plan.md lists them.
#pragma once

#include <string>

#include "model/plan.h"

namespace stemtap {

// Returns the first contradiction, as "kernels[0].clusters[1].count: is 3; expected at least 4", or
// an empty string if there is none.
std::string CheckPlan(const Plan& plan);

}  // namespace stemtap
