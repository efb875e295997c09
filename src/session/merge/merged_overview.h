// SPDX-License-Identifier: Apache-2.0
//
// overview.json of merged sessions: what `stemtap top` and `stemtap report` draw. Counts add up, kernels
// of one name are one, the course is that of all sessions as if they had begun together. Slices of time
// are left out: machines agree on no clock.
#pragma once

#include <span>

#include "session/merge/session_part.h"

namespace stemtap {

// `plan` is the merged one. REQUIRES: every part has an overview.
Overview MergedOverview(std::span<const SessionPart> parts, const Plan& plan);

}  // namespace stemtap
