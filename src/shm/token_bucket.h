// SPDX-License-Identifier: Apache-2.0
//
// TokenBucket limits the captures of a process per second. Its capacity is one second's worth of
// tokens and it starts full, so a run with few captures is never delayed.
//
// The state is one word, `free_ns`, instead of a level and a time (the virtual scheduling variant
// of the GCRA, from ATM). Each taken token advances it by one period; it may be at most one second
// ahead of now.
//
//   100 per second, at t = 5.000 s:  free_ns 5.000 -> 100 captures move it to 6.000, and the next
//                                    waits until 5.010, when 6.010 is again one second ahead
//
// THREADS: any, lock-free.  UNITS: ns of CLOCK_MONOTONIC.
//
// Used by the injected library: needs libc only.
#pragma once

#include <atomic>
#include <cstdint>

namespace stemtap::shm {

class TokenBucket {
 public:
  static constexpr std::uint64_t kSecondNs = 1'000'000'000;

  // Sets the rate; 0 means no limit. Call before any other function.
  void Init(std::uint32_t per_second) noexcept {
    period_ns_ = per_second == 0 ? 0 : kSecondNs / per_second;
  }
  bool limited() const noexcept { return period_ns_ != 0; }

  bool TryTake(std::uint64_t now_ns) noexcept {
    if (!limited()) return true;
    // Relaxed throughout: the word publishes no other data.
    std::uint64_t free_ns = free_ns_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t next = (free_ns > now_ns ? free_ns : now_ns) + period_ns_;
      if (next > now_ns + kSecondNs) return false;
      if (free_ns_.compare_exchange_weak(free_ns, next, std::memory_order_relaxed)) return true;
    }
  }

  // Returns a token that was taken but not used.
  void GiveBack() noexcept { free_ns_.fetch_sub(period_ns_, std::memory_order_relaxed); }

 private:
  std::uint64_t period_ns_ = 0;
  // Written and read by launching threads; relaxed.
  std::atomic<std::uint64_t> free_ns_{0};
};

}  // namespace stemtap::shm
