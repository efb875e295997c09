// SPDX-License-Identifier: Apache-2.0
//
// How AMD's profilers describe a kernel launch in all of their file formats. The rules that these
// functions implement are in docs/formats/rocprofv3-csv.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "formats/importers/row_times.h"

namespace stemtap::formats {

// Times count from the boot of the machine; a kernel that was not timed has 0.
inline constexpr RowTimes::Rule kRocprofTimes = RowTimes::Rule::kLeaveOut;

// Returns the name without what names of kernel descriptors have in addition.
constexpr std::string_view RocprofKernelName(std::string_view symbol) {
  constexpr std::array<std::string_view, 3> kSuffixes = {" [clone .kd]", " (.kd)", ".kd"};
  for (const std::string_view suffix : kSuffixes) {
    if (symbol.size() > suffix.size() && symbol.ends_with(suffix)) {
      symbol.remove_suffix(suffix.size());
      break;
    }
  }
  return symbol;
}

// Returns the number of work-groups of `group` work-items that the hardware dispatches for `items`
// work-items; the last one may be partly filled. REQUIRES: both are positive.
constexpr std::uint64_t WorkGroups(std::uint64_t items, std::uint64_t group) {
  return (items - 1) / group + 1;
}

// Returns the number by which launches of a process are ordered. Some versions count dispatches
// from 0, which would mean that the order is unknown.
constexpr std::uint32_t kRocprofIdOffset = 1;
constexpr std::uint32_t RocprofLaunchNumber(std::uint64_t dispatch) {
  return static_cast<std::uint32_t>(dispatch + kRocprofIdOffset);
}
inline constexpr const char* kRocprofIdName = "dispatch id";

}  // namespace stemtap::formats
