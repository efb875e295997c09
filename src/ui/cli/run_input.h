// SPDX-License-Identifier: Apache-2.0
//
// A run that a command line names: a session, a plan, or a recorded profile.
#pragma once

#include <string>

#include "base/result.h"

namespace stemtap::ui {

enum class RunInput { kSession, kPlan, kProfile };

// Returns what `path` is: a directory is a session, a file with the schema of plan.json is a plan,
// and any other file or stream is a profile. Fails if the path cannot be read.
Result<RunInput> KindOfInput(const std::string& path);

}  // namespace stemtap::ui
