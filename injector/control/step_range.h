// SPDX-License-Identifier: Apache-2.0
//
// StepRange is the name of the ranges that begin a step (STEMTAP_STEP_RANGE). A range that is
// called NAME#N, with a decimal number N, is a range called NAME: torch.profiler numbers its
// steps, and every number would be another path.
//
// THREADS: one calls Set, once; any call Matches.
#pragma once

#include <atomic>
#include <cstdint>

#include "control/range_domain.h"

namespace stemtap::inject {

class StepRange {
 public:
  // Sets the name, as a launch would show it: with the prefix of its domain.
  void Set(const char* name) noexcept;

  // Returns whether opening the range begins a step. Removes the number of the step from `name`.
  bool Matches(const RangeDomain& domain, RangeName& name) const noexcept {
    const std::uint32_t bytes = bytes_.load(std::memory_order_acquire);
    return bytes != 0 && Compare(bytes, domain, name);
  }

 private:
  bool Compare(std::uint32_t bytes, const RangeDomain& domain, RangeName& name) const noexcept;

  std::atomic<std::uint32_t> bytes_{0};  // 0: no range begins a step
  char name_[kMaxRangeNameBytes] = {};
};

}  // namespace stemtap::inject
