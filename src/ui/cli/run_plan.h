// SPDX-License-Identifier: Apache-2.0
//
// Computes the two-pass plan of a recorded run that a command line names.
#pragma once

#include <string>

#include "base/result.h"
#include "sampling/two_pass.h"
#include "session/flags/sampling_flags.h"

namespace stemtap::ui {

// Returns the plan of the run `name`, which `open` opens, with the method and the other options of
// `sampling`, and the warnings of the reader.
Result<sampling::TwoPassPlan> PlanRun(const sampling::OpenReader& open, const std::string& name,
                                      const session::SamplingFlags& sampling);

}  // namespace stemtap::ui
