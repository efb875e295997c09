// SPDX-License-Identifier: Apache-2.0
//
// ThreadRanges is the open ranges of one thread. They nest, whatever their domains: RangePaths
// contains the whole stack, so a thread stores only its innermost range, and a thread that ends
// leaves nothing behind.
//
// A range without an id is refused. So are all ranges that are opened inside it. They are only
// counted, by domain, because the open refused ranges of a domain are always inside its other
// ranges.
//
// THREADS: its own.
#pragma once

#include <cstdint>

#include "control/range_paths.h"

namespace stemtap::inject {

class ThreadRanges {
 public:
  // Opens a range inside the innermost one. Returns the number of open ranges of its domain that
  // enclose it.
  int Push(RangePaths& paths, const RangeDomain& domain, RangeName name) noexcept;
  // Closes the innermost range of a domain, also if ranges of other domains were opened inside it,
  // which stay open. Returns the number of open ranges of the domain that enclosed it, or a
  // negative number if none was open.
  int Pop(RangePaths& paths, std::uint32_t domain) noexcept;

  // Returns the path of the innermost range, RangePaths::kOther, or shm::kNoRange.
  std::uint32_t Current() const noexcept { return refused_ != 0 ? RangePaths::kOther : innermost_; }

 private:
  // Further domains share the last counter. If a path is refused there, a range of one of them may
  // be closed in place of a range of another. Programs use about ten domains.
  static constexpr std::uint32_t kCounters = 14;

  static std::uint32_t CounterOf(std::uint32_t domain) noexcept {
    return domain < kCounters ? domain : kCounters - 1;
  }
  void Refuse(std::uint32_t domain) noexcept;
  int Remove(RangePaths& paths, std::uint32_t domain) noexcept;

  std::uint16_t innermost_ = shm::kNoRange;  // id of RangePaths
  std::uint16_t refused_ = 0;                // sum of refused_in_
  std::uint16_t refused_in_[kCounters] = {};
};

}  // namespace stemtap::inject
