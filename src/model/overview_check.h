// SPDX-License-Identifier: Apache-2.0
//
// CheckOverview decides whether an overview that was read from a file is consistent, as CheckPlan does
// for plans. The rules hold for every overview that stemtap writes, also while a session runs.
#pragma once

#include <string>

#include "model/overview.h"
#include "model/plan.h"

namespace stemtap {

// Returns the first contradiction with its place, or an empty string if there is none. Figures that
// a traced process reports (`processes`, `seen`, `kept`, `dropped`) are not compared: a damaged ring
// may hold anything.
std::string CheckOverview(const Overview& overview);

// Compares an overview with the plan of its session. Returns the first contradiction, or an empty
// string. An overview may be older than the plan: it then has fewer launches.
std::string CompareWithPlan(const Overview& overview, const Plan& plan);

}  // namespace stemtap
