// SPDX-License-Identifier: Apache-2.0
//
// The time of day, for files that say when they were made. Milliseconds since 1970 (CLOCK_REALTIME).
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
