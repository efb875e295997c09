// SPDX-License-Identifier: Apache-2.0
//
// Watchdog decides whether captures have stopped the program: a launch that does not come back from
// between start and stop, or captured kernels that never end.
//
// The second is told by records: after a capture, none of any kernel has come for the whole limit
// though captures are pending. A program that launches nothing has nothing pending; one whose record
// was dropped gets those of others, unless it falls silent just then.
//
// Time is what passes between looks, and no more than a look is expected to take: a process that is
// stopped (by a debugger, SIGSTOP, the machine's sleep) is not looked at either, and its captures do
// not age.
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
    std::uint64_t entered_ns;  // when the launch that is being captured entered; 0: there is none
    std::uint64_t captured;    // captures so far
    std::uint64_t seen;        // kernel records so far, of any kernel
    bool pending;              // captures whose record has not come
  };

  // `limit_ns` 0: never an alarm. `step_ns`: how far looks lie apart at the most.
  void Init(std::uint64_t limit_ns, std::uint64_t step_ns) noexcept {
    limit_ns_ = limit_ns;
    step_ns_ = step_ns;
  }

  // Whether no record has come since a capture.
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
      // Later captures do not put the end off: what a kernel that hangs lets through is launched on.
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
  std::uint64_t watched_ns_ = 0;  // the time that passed under our eyes
  std::uint64_t entered_ns_ = 0;
  std::uint64_t inside_since_ns_ = 0;   // in watched time
  std::uint64_t waiting_since_ns_ = 0;  // as well
  bool waiting_ = false;                // there was a capture, and no record since
};

}  // namespace stemtap::inject
