// SPDX-License-Identifier: Apache-2.0
//
// What the directory of a live session says of the run. There is no profile of it: which launches a tool
// counts in what order is known only where all of them are of one process on one device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/exporters/counting.h"
#include "model/plan.h"

namespace stemtap::cli {

// Whether the plan is of a live session, and no profile.
bool IsOfLiveSession(const Plan& plan);

// Why the launches of the plan at `path` cannot be numbered by their index, as far as the session.json
// beside it says; empty: they can. Of a merged plan, those of the session that has `device`.
std::string WhyNotPlain(const std::string& path, const Plan& plan, const CountingModel& model,
                        std::optional<std::uint16_t> device);

}  // namespace stemtap::cli
