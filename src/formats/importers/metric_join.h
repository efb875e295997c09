// SPDX-License-Identifier: Apache-2.0
//
// Joins the metrics of one recording (a profile of Nsight Compute) to the launches of another: the
// n-th invocation of a kernel name there is the n-th of that name here. Both are held in memory.
//
// Profilers spell names differently. Equal names are joined first; of those left over, names that
// differ in spaces or mangling alone; of those, names of the same function, whatever its template
// arguments, parameters and namespace. Where several names fall together so, their launches are
// counted together. See docs/formats/metrics.md.
#pragma once

#include <memory>
#include <string>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile_reader.h"

namespace stemtap {

// The launches of `profile` with the metrics of `metrics` beside them, empty where there are none; the
// last warning says how many launches have them, also where all do.
// The names are those of the files, for messages. An error when nothing matches, or when a pair of
// launches has another grid or block.
Result<std::unique_ptr<ProfileReader>> JoinMetrics(std::unique_ptr<ProfileReader> profile,
                                                   const std::string& profile_name,
                                                   std::unique_ptr<ProfileReader> metrics,
                                                   const std::string& metrics_name);

// The metrics in `source`, which is a page of Nsight Compute, with durations or without, or any profile
// with metric columns.
Result<std::unique_ptr<ProfileReader>> OpenMetrics(std::unique_ptr<ByteSource> source);

// `profile` with the metrics of the file at `metrics`.
Result<std::unique_ptr<ProfileReader>> JoinMetricsFile(std::unique_ptr<ProfileReader> profile,
                                                       const std::string& profile_name,
                                                       const std::string& metrics);

}  // namespace stemtap
