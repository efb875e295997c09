// SPDX-License-Identifier: Apache-2.0
//
// Profilers as the program of a live session.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace stemtap::cli {

// Wrong use if `command` starts ncu, nsys or compute-sanitizer: they and the injected library exclude
// each other, so nothing would be recorded, and ncu would not even run its program. Looks through
// programs such as env and timeout, which start the program that follows them. An empty command is
// none.
Status CheckNoProfiler(const std::vector<std::string>& command);

}  // namespace stemtap::cli
