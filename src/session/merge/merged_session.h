// SPDX-License-Identifier: Apache-2.0
//
// session.json and summary.txt of merged sessions. See docs/formats/session.md.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "model/session.h"
#include "session/merge/session_part.h"

namespace stemtap::session {

// Returns the summed counters, the processes, devices and warnings of all sessions, and what
// applies to only one session under `sessions`. `plan` is the merged plan. Fails if a sum
// overflows.
Result<model::RecordedSession> MergedSession(std::span<const SessionPart> parts,
                                             const model::Plan& plan);

// `session` is the result of MergedSession.
std::string MergedSummary(const model::Plan& plan, const model::RecordedSession& session);

}  // namespace stemtap::session
