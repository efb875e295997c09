// SPDX-License-Identifier: Apache-2.0
//
// ProcessReport is the state of one traced process, as read from its ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "shm/loss.h"

namespace stemtap::session {

enum class ProcessState : std::uint8_t {
  kRecording,  // still runs, or did not shut down cleanly
  kDisabled,   // recording is disabled
  kClosed,     // shut down cleanly
};
// Names in session.json and overview.json.
inline constexpr const char* kProcessStateNames[] = {"recording", "stood_down", "closed"};
constexpr const char* NameOf(ProcessState state) {
  return kProcessStateNames[static_cast<std::size_t>(state)];
}

struct ProcessReport {
  std::int32_t pid = 0;
  std::string program;
  ProcessState state = ProcessState::kRecording;
  std::string reason;  // why recording is disabled, or remarks of the process
  std::uint32_t cupti_version = 0;
  std::uint32_t driver_version = 0;
  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t skipped = 0;
  std::uint64_t read = 0;  // records that the collector took from the ring
  std::uint64_t late = 0;  // read records outside the window in which launch order is restored
  std::uint64_t malformed = 0;
  std::uint64_t launches_gated = 0;
  std::uint64_t launches_captured = 0;
  std::uint64_t buffers = 0;
  // Recording overhead, see shm/ring.h.
  std::uint64_t cost_program_ns = 0;
  std::uint64_t cost_background_ns = 0;
  std::uint64_t cost_cupti_ns = 0;
  std::uint64_t losses[shm::kLossCount] = {};

  // Returns the number of kernel records known to be lost.
  std::uint64_t dropped() const {
    std::uint64_t sum = malformed;
    for (std::uint32_t i = 0; i < shm::kRecordLossCount; ++i) sum += losses[i];
    return sum;
  }
  // Returns the number of losses of unknown size.
  std::uint64_t gaps() const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = shm::kRecordLossCount; i < shm::kGapLossEnd; ++i) sum += losses[i];
    return sum;
  }
};

}  // namespace stemtap::session
