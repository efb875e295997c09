// SPDX-License-Identifier: Apache-2.0
//
// A user names a session by its directory or a file in it, and a plan by its file or its session
// directory. Every option that takes a plan or a session applies one of these functions.
#pragma once

#include <string>

#include "session/flags/option_table.h"

namespace stemtap::ui {

// Returns the plan.json of the session directory `path`; returns any other path unchanged.
std::string PlanPath(const std::string& path);

// Returns the session directory of the session file (plan.json, session.json, ...) at `path`.
// Returns any other path unchanged, for example a plan.json without a session.json next to it.
std::string SessionPath(const std::string& path);

// Adds the plan of a command, which is its argument or the value of --plan. `plan` stays empty if
// neither is given.
void AddPlan(session::CommandSpec& command, std::string* plan, const std::string& help);

}  // namespace stemtap::ui
