// SPDX-License-Identifier: Apache-2.0
//
// ClockCheck tells whether CUPTI's timestamps count nanoseconds. Any client of CUPTI can replace
// its clock for the whole process, and cannot undo it: Kineto installs the processor's cycle
// counter, in which a duration is 2 to 4 times too long. CUPTI says nothing; so its clock is read
// beside ours.
//
// One interval that disagrees is a step of the clock (it is CLOCK_REALTIME by default) and passes.
// From the second in a row on the timestamps are not believed, until an interval agrees again.
//
// THREADS: Sample from the flusher; sane() from anywhere. UNITS: nanoseconds.
#pragma once

#include <atomic>
#include <cstdint>

namespace stemtap::inject {

class ClockCheck {
 public:
  // Readings of our clock further apart than this had something between them (the thread lost its
  // core): such a sample is left out. 1 % of the shortest interval.
  static constexpr std::uint64_t kMostApart = 500'000;
  // A shorter interval is not judged but made longer. At a flush period of 200 ms each one is.
  static constexpr std::uint64_t kShortest = 50'000'000;
  // Two clocks of one machine agree to 0.1 %; the cycle counter of a processor at 1.05 GHz would
  // pass.
  static constexpr std::uint64_t kAllowedPercent = 3;

  // `cupti` was read between `before` and `after`, which are CLOCK_MONOTONIC.
  void Sample(std::uint64_t before, std::uint64_t cupti, std::uint64_t after) noexcept {
    if (after - before > kMostApart) return;
    if (!started_) {
      started_ = true;
    } else {
      const std::uint64_t elapsed = before - last_;
      if (elapsed < kShortest) return;
      const std::uint64_t counted = cupti - last_cupti_;  // huge after a step back
      const std::uint64_t off = counted > elapsed ? counted - elapsed : elapsed - counted;
      if (off <= elapsed / 100 * kAllowedPercent) {
        odd_ = 0;
      } else if (odd_ < 2) {
        ++odd_;
      }
      // Relaxed: the decoder may learn of it a buffer later.
      insane_.store(odd_ == 2, std::memory_order_relaxed);
    }
    last_ = before;
    last_cupti_ = cupti;
  }

  bool sane() const noexcept { return !insane_.load(std::memory_order_relaxed); }

 private:
  bool started_ = false;
  std::uint32_t odd_ = 0;  // intervals in a row that disagreed, at most 2
  std::uint64_t last_ = 0;
  std::uint64_t last_cupti_ = 0;
  std::atomic<bool> insane_{false};  // in the negative: the library's state is zero at load
};

}  // namespace stemtap::inject
