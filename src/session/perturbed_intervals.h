// SPDX-License-Identifier: Apache-2.0
//
// PerturbedIntervals finds the launches whose durations are not native because of a capture: the
// captured launch, and launches of other streams that share the device with it.
//
// THREADS: one caller.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "shm/record.h"

namespace stemtap::session {

class PerturbedIntervals {
 public:
  // Returns whether the launch is perturbed. Call in launch order: launches made before the
  // captured launch have already been passed on.
  bool Add(const shm::KernelRecord& record, std::uint16_t process) {
    const bool captured = (record.flags & shm::kFlagCaptured) != 0;
    // A start that overflows with the duration is damage.
    if (record.start_ns > shm::kUnknownTime - 1 - record.duration_ns) return captured;
    const std::uint64_t end_ns = record.start_ns + record.duration_ns;
    Interval& latest = latest_[std::uint32_t{process} << 16 | record.device];
    if (captured) {
      latest = {record.start_ns, end_ns};
      return true;
    }
    return record.start_ns < latest.end_ns && latest.start_ns < end_ns;
  }

 private:
  struct Interval {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
  };
  std::unordered_map<std::uint32_t, Interval> latest_;  // captured launch, by process and device
};

}  // namespace stemtap::session
