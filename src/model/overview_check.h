// SPDX-License-Identifier: Apache-2.0
//
// CheckOverview checks whether an overview from a file is consistent, as CheckPlan does for plans.
// Every overview that stemtap writes satisfies the rules, even while a session runs.
#pragma once

#include <string>

#include "model/overview.h"
#include "model/plan.h"

namespace stemtap::model {

// Returns the first inconsistency and its location, or an empty string. Does not check numbers that
// traced processes report (`processes`, `seen`, `kept`, `dropped`), because a damaged ring may
// contain any values.
std::string CheckOverview(const Overview& overview);

// Compares an overview with the plan of its session. Returns the first inconsistency, or an empty
// string. The overview may be older than the plan and then has fewer launches.
std::string CompareWithPlan(const Overview& overview, const Plan& plan);

}  // namespace stemtap::model
