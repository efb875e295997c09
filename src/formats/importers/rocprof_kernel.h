// SPDX-License-Identifier: Apache-2.0
//
// How rocprofv3 describes a kernel launch in all of its file formats.
#pragma once

#include <cstdint>
#include <string_view>

namespace stemtap::formats {

// Returns the name without ".kd", the suffix of kernel descriptor symbols.
constexpr std::string_view RocprofKernelName(std::string_view symbol) {
  if (symbol.size() > 3 && symbol.ends_with(".kd")) symbol.remove_suffix(3);
  return symbol;
}

// Returns the number of work-groups of `group` work-items that the hardware dispatches for `items`
// work-items; the last one may be partly filled. REQUIRES: both are positive.
constexpr std::uint64_t WorkGroups(std::uint64_t items, std::uint64_t group) {
  return (items - 1) / group + 1;
}

}  // namespace stemtap::formats
