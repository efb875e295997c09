// SPDX-License-Identifier: Apache-2.0
//
// Saturating addition for counters from files, which may contain any 64-bit number.
#pragma once

#include <cstdint>
#include <limits>

namespace stemtap {

// Adds `more` to `sum`. On overflow, `sum` becomes the maximum value.
inline void AddSaturated(std::uint64_t more, std::uint64_t& sum) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

}  // namespace stemtap
