// SPDX-License-Identifier: Apache-2.0
//
// ParseCaptureCost reads the value of --capture-cost: FIXED[+FACTOR], or the name of a tool.
//
//   100ms+10   a captured launch costs 100 ms plus ten times its duration
//   0          only the duration matters (the default)
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sampling/sampling_options.h"

namespace stemtap::session {

// Fails with what was expected.
Result<sampling::CapturePrice> ParseCaptureCost(std::string_view text);

// Returns what is wrong with the value, or an empty string (OptionSpec::check).
std::string CaptureCostError(std::string& value);

// Returns the help text of the option, which lists the tools.
std::string CaptureCostHelp();

}  // namespace stemtap::session
