// SPDX-License-Identifier: Apache-2.0
//
// Writes the mask of merged sessions: the events of one session after the other, because machines
// do not share a clock. Launches are numbered as in the merged plan. Streamed, at any size.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/byte_sink.h"
#include "base/result.h"
#include "session/merge/session_part.h"

namespace stemtap::session {

// Writes the events of `parts` to `sink`, skipping parts without a mask. Does not finish `sink`.
// Adds a warning for each mask whose last line is incomplete, as a killed collector leaves it.
Status WriteMergedMask(std::span<const SessionPart> parts, ByteSink& sink,
                       std::vector<std::string>& warnings);

}  // namespace stemtap::session
