// SPDX-License-Identifier: Apache-2.0
//
// Queries about the run behind a live session's directory. A live session has no profile: the
// launch order that another tool counts is known only if all launches belong to one process and one
// device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/exporters/counting.h"
#include "model/plan.h"

namespace stemtap::ui {

// Why nothing is known about the run.
inline constexpr const char* kNoSessionOfRun = "has no session.json of that run next to it";

// Returns why the launches of the plan at `path` cannot be numbered by their index, according to
// the session.json next to it; empty if they can. In a merged plan, considers the session that
// contains `device`.
std::string WhyNotPlain(const std::string& path, const model::Plan& plan,
                        const formats::CountingModel& model, std::optional<std::uint16_t> device);

// Returns the command of the live run of the plan at `path`, according to the session.json next to
// it; empty if it is not known, or if it cannot run without the simulated GPU.
std::vector<std::string> CommandOfRun(const std::string& path, const model::Plan& plan);

}  // namespace stemtap::ui
