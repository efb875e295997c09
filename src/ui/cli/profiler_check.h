// SPDX-License-Identifier: Apache-2.0
//
// Detects profilers used as the program of a live session.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace stemtap::ui {

// Returns a usage error if `command` starts ncu, nsys or compute-sanitizer. A profiler and the
// injected library cannot be active together: nothing would be recorded, and ncu would not run its
// program. Looks through wrappers such as env and timeout. Accepts an empty command.
Status CheckNoProfiler(const std::vector<std::string>& command);

}  // namespace stemtap::ui
