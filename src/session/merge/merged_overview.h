// SPDX-License-Identifier: Apache-2.0
//
// Builds overview.json of merged sessions, which `stemtap top` and `stemtap report` show. Counts
// are summed, kernels with the same name are combined, and the timeline treats all sessions as if
// they had begun together. Time slices are omitted, because machines do not share a clock.
#pragma once

#include <span>

#include "session/merge/session_part.h"

namespace stemtap::session {

// `plan` is the merged plan. REQUIRES: every part has an overview.
model::Overview MergedOverview(std::span<const SessionPart> parts, const model::Plan& plan);

}  // namespace stemtap::session
