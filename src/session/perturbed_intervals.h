// SPDX-License-Identifier: Apache-2.0
//
// PerturbedIntervals finds the launches whose durations are not native because of a capture: the
// captured launch, and launches of other streams that share the device with it.
//
// THREADS: one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "shm/record.h"

namespace stemtap::session {

class PerturbedIntervals {
 public:
  // 65,536 intervals take 4 MiB, more devices than a session has. If a program keeps changing
  // device numbers, all intervals are cleared.
  static constexpr std::size_t kMaxDevices = std::size_t{1} << 16;

  // Returns whether the launch is perturbed. Call in launch order: launches made before the
  // captured launch have already been passed on.
  bool Add(const shm::KernelRecord& record, std::uint16_t process) {
    const bool captured = (record.flags & shm::kFlagCaptured) != 0;
    // A start that overflows with the duration is damage.
    if (record.start_ns > shm::kUnknownTime - 1 - record.duration_ns) return captured;
    const std::uint64_t end_ns = record.start_ns + record.duration_ns;
    const std::uint32_t key = std::uint32_t{process} << 16 | record.device;
    if (captured) {
      if (latest_.size() >= kMaxDevices) latest_.clear();
      latest_[key] = {record.start_ns, end_ns};
      return true;
    }
    const auto latest = latest_.find(key);
    return latest != latest_.end() && record.start_ns < latest->second.end_ns &&
           latest->second.start_ns < end_ns;
  }

 private:
  struct Interval {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
  };
  std::unordered_map<std::uint32_t, Interval> latest_;  // captured launch, by process and device
};

}  // namespace stemtap::session
