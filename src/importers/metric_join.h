// SPDX-License-Identifier: Apache-2.0
//
// Joins the metrics of one recording (a profile of Nsight Compute) to the launches of another: the
// n-th invocation of a kernel name there is the n-th of that name here.
#pragma once

#include <memory>

#include "base/result.h"
#include "trace/profile_reader.h"

namespace stemtap {

// The launches of `profile` with the metrics of `metrics` beside them.
Result<std::unique_ptr<ProfileReader>> JoinMetrics(std::unique_ptr<ProfileReader> profile,
                                                   std::unique_ptr<ProfileReader> metrics);

}  // namespace stemtap
