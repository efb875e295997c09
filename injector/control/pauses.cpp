// SPDX-License-Identifier: Apache-2.0
#include "control/pauses.h"

namespace stemtap::inject {

void Pauses::Switch(bool pause, std::uint64_t now_ns) noexcept {
  std::uint64_t count = this->count();
  while (pause != (count % 2 != 0)) {
    std::atomic<std::uint64_t>& entry = times_[count % kTimes];
    // Acquire: the count is read again after the entry. If it is unchanged, the entry belongs to
    // this switch or to the one kTimes before it.
    std::uint64_t filled = entry.load(std::memory_order_acquire);
    const std::uint64_t now = this->count();
    if (now != count) {
      count = now;
      continue;
    }
    if ((filled & 1) != LapBit(count)) {
      const std::uint64_t last_ns = count == 0 ? 0 : TimeOf(count - 1);
      const std::uint64_t time_ns = now_ns < last_ns ? last_ns : now_ns;
      // If this fails, another thread has filled the entry.
      entry.compare_exchange_strong(filled, time_ns << 1 | LapBit(count),
                                    std::memory_order_relaxed);
    }
    // Release: publishes the entry; pairs with the acquire in count(). Acquire: if another thread
    // has made this switch, its time is visible.
    if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
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
    if (TimeOf(middle) <= start_ns) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  // `first` is the number of switches at or before start_ns.
  return first % 2 != 0;
}

}  // namespace stemtap::inject
