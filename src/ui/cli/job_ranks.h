// SPDX-License-Identifier: Apache-2.0
//
// stemtap stats --fleet: the ranks of a job, and which of them are slow, while it runs or after.
#pragma once

#include "base/result.h"
#include "ui/cli/fleet_flags.h"

namespace stemtap::ui {

// Reads the job and prints its ranks as a table or as JSON. Returns the exit code. Fails if the
// server cannot be reached or does not know the job.
Result<int> PrintJobRanks(const FleetFlags& fleet, bool json);

}  // namespace stemtap::ui
