// SPDX-License-Identifier: Apache-2.0
//
// At level gate, a launch of a CUDA graph is one call that launches many kernels. The gate can
// capture none of them, so their time stays uncovered unless the same kernels are also launched
// outside of graphs.
//
// THREADS: none.
#pragma once

#include <span>
#include <string>

#include "model/session.h"

namespace stemtap::model {

// Returns one line without a line end that states how much of the time graph launches are that the
// gate could not capture, and what to do. Returns an empty string if it is less than 1 %.
std::string GraphLaunchesLine(std::span<const ProcessReport> processes,
                              std::span<const DeviceTotals> devices);

}  // namespace stemtap::model
