// SPDX-License-Identifier: Apache-2.0
//
// ParallelFor is how the rooms that know no threads let their caller bring some.
#pragma once

#include <cstddef>
#include <functional>

namespace stemtap {

// Calls part(i) for every i < count, in any order, perhaps several at once, and returns when all
// are done. What the parts do must not depend on the order.
using ParallelFor =
    std::function<void(std::size_t count, const std::function<void(std::size_t)>& part)>;

inline void Serially(std::size_t count, const std::function<void(std::size_t)>& part) {
  for (std::size_t i = 0; i < count; ++i) part(i);
}

}  // namespace stemtap
