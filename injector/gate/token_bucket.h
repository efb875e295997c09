// SPDX-License-Identifier: Apache-2.0
//
// TokenBucket limits how many captures a process makes per second. It holds as many tokens as one
// second brings and is full at first, so that a run of a few captures is not held up at all.
//
// One word instead of a level and a time: `free_ns`, when the last token that was taken had come in
// if tokens came one by one and were taken as they came (the virtual scheduling of ATM's GCRA). A
// taker moves it on by one period; it may lie up to one second ahead of now.
//
//   100 per second, at t = 5.000 s:  free_ns 5.000 -> 100 captures move it to 6.000, and the next waits
//                                    until 5.010, when 6.000 + 0.010 is one second ahead again
//
// THREADS: any, without locks.  UNITS: ns of CLOCK_MONOTONIC.
#pragma once

#include <atomic>
#include <cstdint>

namespace stemtap::inject {

class TokenBucket {
 public:
  static constexpr std::uint64_t kSecondNs = 1'000'000'000;

  // 0: no limit. Before any other call.
  void Init(std::uint32_t per_second) noexcept {
    period_ns_ = per_second == 0 ? 0 : kSecondNs / per_second;
  }
  bool limited() const noexcept { return period_ns_ != 0; }

  bool TryTake(std::uint64_t now_ns) noexcept {
    if (!limited()) return true;
    // Relaxed throughout: the word stands for itself.
    std::uint64_t free_ns = free_ns_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t next = (free_ns > now_ns ? free_ns : now_ns) + period_ns_;
      if (next > now_ns + kSecondNs) return false;
      if (free_ns_.compare_exchange_weak(free_ns, next, std::memory_order_relaxed)) return true;
    }
  }

  // A token that was taken and not used.
  void GiveBack() noexcept { free_ns_.fetch_sub(period_ns_, std::memory_order_relaxed); }

 private:
  std::uint64_t period_ns_ = 0;
  std::atomic<std::uint64_t> free_ns_{0};
};

}  // namespace stemtap::inject
