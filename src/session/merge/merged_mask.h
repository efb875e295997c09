// SPDX-License-Identifier: Apache-2.0
//
// The mask of merged sessions: the events of each, one session after the other, as machines agree on no
// clock. Launches are numbered as in the merged plan. Streamed, whatever the size.
#pragma once

#include <span>

#include "base/byte_sink.h"
#include "base/result.h"
#include "session/merge/session_part.h"

namespace stemtap {

// Writes the events of `parts` (those without a mask have none) into `sink`, which is not finished.
Status WriteMergedMask(std::span<const SessionPart> parts, ByteSink& sink);

}  // namespace stemtap
