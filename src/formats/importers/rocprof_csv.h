// SPDX-License-Identifier: Apache-2.0
//
// Reads the tables of kernels that AMD's profilers write as CSV: rocprofv3, rocprofv2, rocprof and
// Omniperf. See docs/formats/rocprofv3-csv.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

// What a row of a table is. Only launches with times can be read.
enum class RocprofRow : std::uint8_t {
  kUnknown,  // not a table of rocprof
  kLaunch,
  kLaunchWithoutTimes,
  kCounter,  // one of several counters of a launch
  kApiCall,
  kSummary,  // of all launches of a kernel
};

// Returns what the rows are of a file that starts with `leading`.
RocprofRow RocprofRowOf(std::string_view leading);

bool LooksLikeRocprofCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenRocprofCsv(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
