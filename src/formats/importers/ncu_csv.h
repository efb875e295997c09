// SPDX-License-Identifier: Apache-2.0
//
// Reads a CSV page of Nsight Compute (ncu_page.h) as a profile.
#pragma once

#include <memory>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

// Reads the page as a profile of its own; every launch needs a duration.
Result<std::unique_ptr<model::ProfileReader>> OpenNcuCsv(std::unique_ptr<ByteSource> source);

// Reads the page only for its metrics (metric_join.h); missing durations become 0.
Result<std::unique_ptr<model::ProfileReader>> OpenNcuMetrics(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
