// SPDX-License-Identifier: Apache-2.0
//
// ParallelFor is a parallel loop that callers pass to modules that do not start threads themselves.
#pragma once

#include <cstddef>
#include <functional>

namespace stemtap {

// Calls part(i) for every i < count, in any order and possibly concurrently, and returns when all
// calls are done. The result must not depend on the order.
using ParallelFor =
    std::function<void(std::size_t count, const std::function<void(std::size_t)>& part)>;

inline void Serially(std::size_t count, const std::function<void(std::size_t)>& part) {
  for (std::size_t i = 0; i < count; ++i) part(i);
}

}  // namespace stemtap
