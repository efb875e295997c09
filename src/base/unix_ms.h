// SPDX-License-Identifier: Apache-2.0
//
// UnixMs returns the time of day for timestamps in files.
//
// UNITS: milliseconds since 1970 (CLOCK_REALTIME).
#pragma once

#include <chrono>
#include <cstdint>

namespace stemtap {

inline std::uint64_t UnixMs() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

}  // namespace stemtap
