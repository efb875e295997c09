// SPDX-License-Identifier: Apache-2.0
//
// ClockCheck detects whether CUPTI's timestamps count nanoseconds. Any CUPTI client can replace
// CUPTI's clock for the whole process, and it cannot be restored. Kineto installs the CPU's cycle
// counter, which makes durations 2 to 4 times too long. CUPTI does not report the change, so its
// clock is read next to ours.
//
// There are two checks. CUPTI's default clock is CLOCK_REALTIME. Once that has been observed, a
// record whose time is more than a day from now was stamped by another clock; this check works at
// once and for each record. If CUPTI uses another clock (CLOCK_MONOTONIC_RAW under WSL), the speeds
// of the clocks are compared. One interval that disagrees is taken as a clock step and ignored.
// From the second consecutive interval on, timestamps are rejected until an interval agrees again.
//
// THREADS: Sample from one thread; the rest from any thread.  UNITS: nanoseconds.
#pragma once

#include <atomic>
#include <cstdint>

namespace stemtap::inject {

class ClockCheck {
 public:
  // If readings of our clock are further apart than this, the thread was interrupted and the sample
  // is skipped. 1 % of kShortest.
  static constexpr std::uint64_t kMaxApart = 500'000;
  // A shorter interval is extended instead of judged. At a flush period of 200 ms every interval is
  // long enough.
  static constexpr std::uint64_t kShortest = 50'000'000;
  // Two clocks of one machine agree to 0.1 %. A cycle counter within 3 % of 1 GHz is not
  // detected.
  static constexpr std::uint64_t kAllowedPercent = 3;

  // Two readings of one clock are within kMaxApart, plus the same again for the third reading. A
  // cycle counter is this close only at the moment when it passes the real time.
  static constexpr std::uint64_t kNear = 1'000'000;
  // Maximum distance of a record's time from now. Programs delay records for less, and running
  // clocks are stepped by less, except on a machine without a battery whose clock starts in 1970. A
  // 3 GHz cycle counter comes this close after 19 years of uptime.
  static constexpr std::uint64_t kDay = 86'400'000'000'000;

  // Takes one reading of the clocks. `cupti` was read between `before` and `after`
  // (CLOCK_MONOTONIC), and `realtime` between `cupti` and `after`.
  void Sample(std::uint64_t before, std::uint64_t cupti, std::uint64_t realtime,
              std::uint64_t after) noexcept {
    if (after - before > kMaxApart) return;
    // Relaxed: the decoder may read it one buffer later.
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
      // Relaxed: the decoder may read it one buffer later.
      insane_.store(odd_ == 2, std::memory_order_relaxed);
    }
    last_ = before;
    last_cupti_ = cupti;
  }

  bool sane() const noexcept { return !insane_.load(std::memory_order_relaxed); }

  // Returns whether a record stamped `stamp` may be in nanoseconds. `realtime` is the current time.
  bool Believes(std::uint64_t stamp, std::uint64_t realtime) const noexcept {
    return sane() && (!real_.load(std::memory_order_relaxed) || Apart(stamp, realtime) <= kDay);
  }

 private:
  static std::uint64_t Apart(std::uint64_t a, std::uint64_t b) noexcept {
    return a > b ? a - b : b - a;
  }

  bool started_ = false;
  std::uint32_t odd_ = 0;  // consecutive intervals that disagreed, at most 2
  std::uint64_t last_ = 0;
  std::uint64_t last_cupti_ = 0;
  std::atomic<bool> real_{false};    // CUPTI's clock has been CLOCK_REALTIME
  std::atomic<bool> insane_{false};  // inverted, because the library's state is zero at load
};

}  // namespace stemtap::inject
