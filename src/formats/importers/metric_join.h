// SPDX-License-Identifier: Apache-2.0
//
// Joins the metrics of one recording (a Nsight Compute profile) to the launches of another: the
// n-th launch of a kernel in the metrics matches the n-th launch of that kernel in the profile.
// Both recordings are kept in memory.
//
// Profilers spell kernel names differently. Equal names are joined first. The remaining names are
// joined if they differ only in spaces or mangling, and then if they are of the same function,
// regardless of template arguments, parameters and namespace. If several names match this way,
// their launches are counted together. See docs/formats/metrics.md.
#pragma once

#include <memory>
#include <string>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

// Returns the launches of `profile` with the metrics of `metrics`; launches without metrics have
// empty values. The last warning reports how many launches have metrics, even if all do.
// `profile_name` and `metrics_name` are the file names, for messages. Returns an error if nothing
// matches or if a matched pair of launches has different grids or blocks.
Result<std::unique_ptr<model::ProfileReader>> JoinMetrics(
    std::unique_ptr<model::ProfileReader> profile, const std::string& profile_name,
    std::unique_ptr<model::ProfileReader> metrics, const std::string& metrics_name);

// Reads the metrics in `source`, which is a Nsight Compute page, with or without durations, or any
// profile with metric columns.
Result<std::unique_ptr<model::ProfileReader>> OpenMetrics(std::unique_ptr<ByteSource> source);

// Joins the metrics of the file at `metrics` to `profile`.
Result<std::unique_ptr<model::ProfileReader>> JoinMetricsFile(
    std::unique_ptr<model::ProfileReader> profile, const std::string& profile_name,
    const std::string& metrics);

}  // namespace stemtap::formats
