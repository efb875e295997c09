// SPDX-License-Identifier: Apache-2.0
//
// What merged sessions write besides their plan: session.json, summary.txt, overview.json and the
// mask. See docs/formats/session.md.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/byte_sink.h"
#include "base/result.h"
#include "model/session.h"
#include "session/merge/merge_sessions.h"

namespace stemtap::session {

// Returns the summed counters, the processes, devices and warnings of all sessions, and what
// applies to only one session under `sessions`. `plan` is the merged plan. Fails if a sum
// overflows.
Result<model::RecordedSession> MergedSession(std::span<const SessionPart> parts,
                                             const model::Plan& plan);

// `session` is the result of MergedSession.
std::string MergedSummary(const model::Plan& plan, const model::RecordedSession& session);

// Builds overview.json of merged sessions, which `stemtap top` and `stemtap report` show. Counts
// are summed, kernels with the same name are combined, and the timeline treats all sessions as if
// they had begun together. Time slices are omitted, because machines do not share a clock.
// `plan` is the merged plan. REQUIRES: every part has an overview.
model::Overview MergedOverview(std::span<const SessionPart> parts, const model::Plan& plan);

// Writes the mask of merged sessions: the events of one session after the other, because machines
// do not share a clock. Launches are numbered as in the merged plan. Streamed, at any size. Skips
// parts without a mask. Does not finish `sink`.
// Adds a warning for each mask whose last line is incomplete, as a killed collector leaves it.
Status WriteMergedMask(std::span<const SessionPart> parts, ByteSink& sink,
                       std::vector<std::string>& warnings);

}  // namespace stemtap::session
