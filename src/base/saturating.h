// SPDX-License-Identifier: Apache-2.0
//
// Sums of counters that come from files, where any 64-bit number may stand.
#pragma once

#include <cstdint>
#include <limits>

namespace stemtap {

// Adds `more` to `sum`, which stops at the largest number.
inline void AddSaturated(std::uint64_t more, std::uint64_t& sum) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

}  // namespace stemtap
