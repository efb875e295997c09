// SPDX-License-Identifier: Apache-2.0
#include "control/started_ranges.h"

#include "control/range_paths.h"

namespace stemtap::inject {

std::uint64_t StartedRanges::Start(std::uint32_t path) noexcept {
  static_assert(kRanges < 1 << kPlaceBits);
  static_assert(RangePaths::kOther < 1 << kPathBits);
  const std::uint64_t number = started_.fetch_add(1, std::memory_order_relaxed) + 1;
  for (std::uint64_t probe = 0; probe < kRanges; ++probe) {
    const std::uint64_t place = (number + probe) % kRanges;
    std::uint64_t entry = entries_[place].load(std::memory_order_relaxed);
    if (entry == 0 && entries_[place].compare_exchange_strong(entry, number << kPathBits | path,
                                                              std::memory_order_release,
                                                              std::memory_order_relaxed)) {
      return number << kPlaceBits | place;
    }
  }
  latest_further_.store(number, std::memory_order_relaxed);
  further_.fetch_add(1, std::memory_order_relaxed);
  return number << kPlaceBits | kRanges;
}

void StartedRanges::End(std::uint64_t id) noexcept {
  const std::uint64_t number = id >> kPlaceBits;
  const std::uint64_t place = id % (1 << kPlaceBits);
  if (place < kRanges) {
    std::uint64_t entry = entries_[place].load(std::memory_order_relaxed);
    if (number != 0 && entry >> kPathBits == number) {
      entries_[place].compare_exchange_strong(entry, 0, std::memory_order_relaxed);
    }
    return;
  }
  if (place != kRanges || number > started_.load(std::memory_order_relaxed)) return;
  std::uint64_t open = further_.load(std::memory_order_relaxed);
  while (open != 0 && !further_.compare_exchange_weak(open, open - 1, std::memory_order_relaxed)) {
  }
}

std::uint32_t StartedRanges::Latest() const noexcept {
  if (started_.load(std::memory_order_relaxed) == 0) return shm::kNoRange;
  std::uint64_t latest = 0;
  for (const std::atomic<std::uint64_t>& entry : entries_) {
    const std::uint64_t value = entry.load(std::memory_order_acquire);
    if (value > latest) latest = value;
  }
  if (further_.load(std::memory_order_relaxed) != 0 &&
      latest_further_.load(std::memory_order_relaxed) > latest >> kPathBits) {
    return RangePaths::kOther;
  }
  static_assert(shm::kNoRange == 0);
  return static_cast<std::uint32_t>(latest % (1 << kPathBits));
}

}  // namespace stemtap::inject
