// SPDX-License-Identifier: Apache-2.0
//
// session.json and summary.txt of merged sessions. See docs/formats/session.md.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "session/merge/session_part.h"

namespace stemtap {

// Sums of the counters; processes, devices and warnings of all; what each session alone says of itself
// under `sessions`. `plan` is the merged one. An error when a sum does not fit.
Result<Json> MergedSession(std::span<const SessionPart> parts, const Plan& plan);

// `session` is that of MergedSession.
std::string MergedSummary(const Plan& plan, const Json& session);

}  // namespace stemtap
