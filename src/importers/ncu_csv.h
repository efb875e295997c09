// SPDX-License-Identifier: Apache-2.0
//
// The CSV pages of Nsight Compute: raw (a row for each launch) and details (a row for each metric of
// a launch). Numbers are scaled to base units: ns, bytes, 1/s. See docs/formats/ncu-csv.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "trace/profile_reader.h"

namespace stemtap {

bool LooksLikeNcuCsv(std::string_view leading);

// As a profile of its own: every launch needs its duration.
Result<std::unique_ptr<ProfileReader>> OpenNcuCsv(std::unique_ptr<ByteSource> source);

// For its metrics alone (metric_join.h): durations that the file lacks are 0.
Result<std::unique_ptr<ProfileReader>> OpenNcuMetrics(std::unique_ptr<ByteSource> source);

}  // namespace stemtap
