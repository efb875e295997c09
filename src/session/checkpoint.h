// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint is one file in the directory of a running session that contains what the session
// would write if the program ended now. The collector renews it three times a second, or less often
// if that takes long, so that 'stemtap recover' finds the results of a session whose collector was
// killed.
//
//   stemtap.checkpoint/1 2
//   plan.json 81234
//   <81,234 bytes>session.json 4021
//   <4,021 bytes>
//
// See docs/formats/session.md.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/directory.h"
#include "base/result.h"
#include "model/session.h"
#include "session/traced_processes.h"

namespace stemtap::session {

// A file of a session directory.
struct SessionFile {
  std::string name;
  std::string content;
};

std::string PackFiles(const std::vector<SessionFile>& files);
// Fails if the text is not whole. `source` is its name in messages.
Result<std::vector<SessionFile>> UnpackFiles(std::string_view text, const std::string& source);

// The part of a checkpoint that says how far each ring was read, in lines: "ring.42.1737 9000".
inline constexpr const char* kRingsName = "rings";
std::string PackRings(const std::vector<TracedProcesses::RingProgress>& rings);

// CheckpointClock decides when the next checkpoint is due.
//
// THREADS: one caller.
class CheckpointClock {
 public:
  using Clock = std::chrono::steady_clock;

  // With the 600 ms that a record can be on its way to the statistics (a flush period of the
  // process and the time that restores the launch order), a killed collector loses less than a
  // second.
  static constexpr std::chrono::milliseconds kMinPeriod{300};
  // Minimum period as a multiple of the last checkpoint's duration: at most 4 % of the collector's
  // time. A checkpoint of 9 kernels takes 5 ms, and of 4,000 kernels 30 to 90 ms.
  static constexpr int kTimesCost = 25;

  bool is_due() const { return Clock::now() >= due_; }
  // A checkpoint that began at `begin` has been written.
  void Written(Clock::time_point begin) {
    const Clock::time_point now = Clock::now();
    due_ = std::max<Clock::time_point>(begin + kMinPeriod, now + kTimesCost * (now - begin));
  }

 private:
  Clock::time_point due_ = Clock::now() + kMinPeriod;
};

// Recovered is a session that Recover has made readable.
struct Recovered {
  model::RecordedSession session;
  std::uint64_t launches = 0;  // in the plan
  std::uint64_t missing = 0;   // that processes recorded and that are not in the plan
  bool is_from_rings = false;  // there was no checkpoint: the launches are those left in rings
};

// Writes the results of the session in `path`, whose collector was killed, from its checkpoint, or
// from the rings if it was killed before the first one. Removes what only a running session needs.
// Fails if the session runs, has ended, or cannot be written.
Result<Recovered> Recover(const std::string& path);

}  // namespace stemtap::session
