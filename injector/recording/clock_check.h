// SPDX-License-Identifier: Apache-2.0
//
// ClockCheck tells whether CUPTI's timestamps count nanoseconds. Any client of CUPTI can replace
// its clock for the whole process, and cannot undo it: Kineto installs the processor's cycle
// counter, in which a duration is 2 to 4 times too long. CUPTI says nothing; so its clock is read
// beside ours.
//
// Two checks. By default CUPTI's clock is CLOCK_REALTIME: once it has been seen to be, a record that
// is not of our days was stamped by another clock. That tells at once, and of each record. Elsewhere
// (WSL has CLOCK_MONOTONIC_RAW) the speeds of the clocks are compared: one interval that disagrees
// is a step of the clock and passes, from the second in a row on the timestamps are not believed,
// until an interval agrees again.
//
// THREADS: Sample from one thread; the rest from anywhere. UNITS: nanoseconds.
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

  // Two readings of one clock within kMostApart, and as much again for the third. A cycle counter
  // shows the same only in the moment at which it passes.
  static constexpr std::uint64_t kNear = 1'000'000;
  // How far from now a record's time may be: longer than any program holds records back and than the
  // clock is ever stepped while one runs, but for a machine without a battery, whose clock begins in
  // 1970. A cycle counter of 3 GHz gets that near when the machine has been up for 19 years.
  static constexpr std::uint64_t kDay = 86'400'000'000'000;

  // `cupti` was read between `before` and `after`, which are CLOCK_MONOTONIC, and `realtime`
  // between `cupti` and `after`.
  void Sample(std::uint64_t before, std::uint64_t cupti, std::uint64_t realtime,
              std::uint64_t after) noexcept {
    if (after - before > kMostApart) return;
    // Relaxed: the decoder may learn of it a buffer later.
    if (Apart(cupti, realtime) <= kNear) real_.store(true, std::memory_order_relaxed);
    if (!started_) {
      started_ = true;
    } else {
      const std::uint64_t elapsed = before - last_;
      if (elapsed < kShortest) return;
      const std::uint64_t counted = cupti - last_cupti_;  // huge after a step back
      const std::uint64_t off = Apart(counted, elapsed);
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

  // Whether a record of the time `stamp` may have been stamped in nanoseconds. `realtime`: now.
  bool Believes(std::uint64_t stamp, std::uint64_t realtime) const noexcept {
    return sane() && (!real_.load(std::memory_order_relaxed) || Apart(stamp, realtime) <= kDay);
  }

 private:
  static std::uint64_t Apart(std::uint64_t a, std::uint64_t b) noexcept {
    return a > b ? a - b : b - a;
  }

  bool started_ = false;
  std::uint32_t odd_ = 0;  // intervals in a row that disagreed, at most 2
  std::uint64_t last_ = 0;
  std::uint64_t last_cupti_ = 0;
  std::atomic<bool> real_{false};    // CUPTI's clock has been CLOCK_REALTIME
  std::atomic<bool> insane_{false};  // in the negative: the library's state is zero at load
};

}  // namespace stemtap::inject
