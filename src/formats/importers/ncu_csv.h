// SPDX-License-Identifier: Apache-2.0
//
// A CSV page of Nsight Compute (ncu_page.h) as a profile.
#pragma once

#include <memory>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile_reader.h"

namespace stemtap {

// As a profile of its own: every launch needs its duration.
Result<std::unique_ptr<ProfileReader>> OpenNcuCsv(std::unique_ptr<ByteSource> source);

// For its metrics alone (metric_join.h): durations that the file lacks are 0.
Result<std::unique_ptr<ProfileReader>> OpenNcuMetrics(std::unique_ptr<ByteSource> source);

}  // namespace stemtap
