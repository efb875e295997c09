// SPDX-License-Identifier: Apache-2.0
//
// Watchdog detects captures that block the program: a launch that does not return between start and
// stop, or captured kernels that never finish.
//
// The second case is detected through records: for the whole limit after a capture, no record of
// any kernel arrived although captures are pending. A program that launches nothing has nothing
// pending. If only the record of the capture was dropped, records of other kernels reset the timer.
//
// Time advances at each look by at most the expected interval between looks. While a process is
// stopped (by a debugger, SIGSTOP or system suspend), there are no looks and its captures do not
// age.
//
// THREADS: one.  UNITS: ns of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

namespace stemtap::inject {

class Watchdog {
 public:
  enum class Alarm : std::uint8_t { kNone, kInActuator, kNoRecord };

  struct Sight {
    std::uint64_t now_ns;
    std::uint64_t entered_ns;  // when the launch being captured entered; 0: none
    std::uint64_t captured;    // captures so far
    std::uint64_t seen;        // kernel records so far, of any kernel, also of pauses
    bool pending;              // captures without a record exist
  };

  // `limit_ns` 0 disables alarms. `step_ns` is the maximum time that passes between two looks.
  void Init(std::uint64_t limit_ns, std::uint64_t step_ns) noexcept {
    limit_ns_ = limit_ns;
    step_ns_ = step_ns;
  }

  // Returns whether no record has arrived since a capture.
  bool waiting() const noexcept { return waiting_; }

  Alarm Look(const Sight& sight) noexcept {
    const std::uint64_t step = sight.now_ns - last_ns_;
    watched_ns_ += step < step_ns_ ? step : step_ns_;
    last_ns_ = sight.now_ns;
    if (sight.entered_ns != entered_ns_) {
      entered_ns_ = sight.entered_ns;
      inside_since_ns_ = watched_ns_;
    }
    if (sight.seen != seen_) {
      seen_ = sight.seen;
      waiting_ = false;
    }
    if (sight.captured != captured_) {
      captured_ = sight.captured;
      // Later captures do not extend the deadline: a program with a hung kernel may continue to
      // launch.
      if (!waiting_) waiting_since_ns_ = watched_ns_;
      waiting_ = true;
    }
    if (limit_ns_ == 0) return Alarm::kNone;
    if (entered_ns_ != 0 && watched_ns_ - inside_since_ns_ > limit_ns_) return Alarm::kInActuator;
    if (waiting_ && sight.pending && watched_ns_ - waiting_since_ns_ > limit_ns_) {
      return Alarm::kNoRecord;
    }
    return Alarm::kNone;
  }

 private:
  std::uint64_t limit_ns_ = 0;
  std::uint64_t captured_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t step_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t watched_ns_ = 0;  // time that passed between looks
  std::uint64_t entered_ns_ = 0;
  std::uint64_t inside_since_ns_ = 0;   // in watched time
  std::uint64_t waiting_since_ns_ = 0;  // in watched time
  bool waiting_ = false;                // no record has arrived since a capture
};

}  // namespace stemtap::inject
