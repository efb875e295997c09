// SPDX-License-Identifier: Apache-2.0
//
// Watchdog decides whether captures have stopped the program: a launch that does not come back from
// between start and stop, or captured kernels that never end.
//
// The second is told by records: after a capture, none of any kernel has come for the whole limit
// though captures are pending. A program that launches nothing has nothing pending; one whose record
// was dropped gets those of others, unless it falls silent just then.
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

  // 0: never an alarm.
  void Init(std::uint64_t limit_ns) noexcept { limit_ns_ = limit_ns; }

  Alarm Look(const Sight& sight) noexcept {
    if (sight.seen != seen_) {
      seen_ = sight.seen;
      waiting_ = false;
    }
    if (sight.captured != captured_) {
      captured_ = sight.captured;
      // Later captures do not put the end off: what a kernel that hangs lets through is launched on.
      if (!waiting_) since_ns_ = sight.now_ns;
      waiting_ = true;
    }
    if (limit_ns_ == 0) return Alarm::kNone;
    // The entry may be younger than the clock's reading.
    if (sight.entered_ns != 0 && sight.now_ns > sight.entered_ns &&
        sight.now_ns - sight.entered_ns > limit_ns_) {
      return Alarm::kInActuator;
    }
    if (waiting_ && sight.pending && sight.now_ns - since_ns_ > limit_ns_) return Alarm::kNoRecord;
    return Alarm::kNone;
  }

 private:
  std::uint64_t limit_ns_ = 0;
  std::uint64_t captured_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t since_ns_ = 0;
  bool waiting_ = false;  // there was a capture, and no record since
};

}  // namespace stemtap::inject
