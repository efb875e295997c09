// SPDX-License-Identifier: Apache-2.0
#include "control/pauses.h"

namespace stemtap::inject {

void Pauses::Switch(bool pause, std::uint64_t now_ns) noexcept {
  std::uint64_t count = count_.load(std::memory_order_relaxed);
  while (pause != (count % 2 != 0)) {
    // If several threads make the same switch at once, the time of any of them is kept.
    times_[count % kTimes].store(now_ns, std::memory_order_relaxed);
    // Release: publishes the time; pairs with the acquire in Covers.
    if (count_.compare_exchange_weak(count, count + 1, std::memory_order_release,
                                     std::memory_order_relaxed)) {
      return;
    }
  }
}

// Returns whether the last switch at or before `start_ns` began a pause. A time before the oldest
// time in the log is taken as between that switch and the switch before it.
bool Pauses::Search(std::uint64_t count, std::uint64_t start_ns) const noexcept {
  // The oldest time may be replaced during the search.
  const std::uint64_t oldest = count < kTimes ? 0 : count - kTimes + 1;
  std::uint64_t first = oldest;
  std::uint64_t end = count;
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (times_[middle % kTimes].load(std::memory_order_relaxed) <= start_ns) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  // `first` is the number of switches at or before start_ns.
  return first % 2 != 0;
}

}  // namespace stemtap::inject
