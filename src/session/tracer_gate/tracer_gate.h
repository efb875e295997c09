// SPDX-License-Identifier: Apache-2.0
//
// TracerGate runs the sampler inside a tracer in which CUPTI cannot run (an NVBit tool). The tracer
// asks at each launch whether to capture it, and reports the duration afterwards.
//
//   ShouldCapture ─► gate table ─► yes / no, and an id        Observe(id, duration)
//                        ▲                                          │
//                        └── credits ◄── Engine ◄── launch order ◄──┘
//
// The engine is the same as in a live session; only the input differs. Ids count launches from 0
// and are the launch indices of the plan.
//
// A captured launch is instrumented, so its duration is meaningless and the tracer reports
// kUnknownDuration. The launch is imputed with the last reported duration of the same launch
// history (see context_key.h), else of the same configuration, else of the same kernel. It is one
// duration and not a mean: if durations are bimodal, a mean belongs to neither mode and would
// assign the capture to an empty cluster. The total and the cluster counts stay right on average.
// An exploratory capture waits for the next launch of its kernel, for at most kMaxExploreWait
// launches. A launch whose duration never becomes known is dropped.
//
// THREADS: any; a mutex serializes calls. Observe may run an epoch of the engine, which takes some
// milliseconds while the application waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "sampling/sampling_options.h"
#include "session/engine.h"
#include "session/launch_tracker.h"
#include "session/session.h"
#include "shm/launch_keys.h"
#include "shm/record.h"

namespace stemtap::session {

// TracerLaunch is what a tracer knows of a launch before it runs. Of `record`, only device, stream,
// grid, block and shared bytes are read.
struct TracerLaunch {
  std::string_view name;
  shm::KernelRecord record;
};

class TracerGate {
 public:
  static constexpr std::uint64_t kUnknownDuration = shm::kUnknownTime;
  // 104 days. A longer duration comes from a clock that went backwards and is treated as unknown.
  static constexpr std::uint64_t kMaxDuration = std::uint64_t{1} << 53;
  // Maximum launches that an exploratory capture waits for another launch of its kernel. Later
  // launches wait with it, and the gate learns nothing meanwhile. A loop over the layers of a model
  // repeats its kernels well within 256 launches; a longer wait would only help start-up kernels
  // that never recur.
  static constexpr std::uint64_t kMaxExploreWait = 256;
  // Maximum launches with an unknown duration; beyond it the oldest is dropped. 104 bytes each; as
  // many as the collector holds to restore launch order (LaunchSequencer::kWindow).
  static constexpr std::size_t kMaxPending = std::size_t{1} << 16;

  struct Answer {
    std::uint64_t id = 0;
    bool capture = false;
  };

  // Fails if the exclude pattern is invalid or the directory cannot be created.
  static Result<std::unique_ptr<TracerGate>> Open(const SessionOptions& options);

  Answer ShouldCapture(const TracerLaunch& launch);

  // Returns false if the id was never assigned, was already reported, or was dropped.
  bool Observe(std::uint64_t id, std::uint64_t duration_ns);

  // Drops launch `id`, whose duration will never be known, and returns its credit. Returns false as
  // Observe does.
  bool Abandon(std::uint64_t id);

  // Ends the sampler, and writes the session if there is a directory. Call once.
  Result<model::Plan> Close();

 private:
  enum class State : std::uint8_t { kRunning, kDurationUnknown, kKnown, kAbandoned };
  struct Pending {
    shm::KernelRecord record;
    shm::LaunchKeys keys;
    State state = State::kRunning;
  };

  TracerGate(const SessionOptions& options, std::unique_ptr<Session> session);

  static std::array<std::uint64_t, 3> KeysOf(const Pending& launch) {
    return {launch.keys.history, launch.keys.config, std::uint64_t{launch.record.name_id} + 1};
  }
  // Returns launch `id` if its duration is still awaited, else null.
  Pending* Running(std::uint64_t id);
  // Returns whether the duration of `launch` is known, imputing it if necessary.
  bool Settle(Pending& launch) const;
  void Drain();
  void DropOldest();

  SessionOptions options_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<shm::GateTable> table_ = std::make_unique<shm::GateTable>();
  LocalGate gate_;
  WorkerPool pool_{1};
  Engine engine_;

  std::mutex mutex_;
  std::deque<Pending> pending_;  // launches first_ ..., in launch order
  std::uint64_t first_ = 0;
  LaunchTracker tracker_{LaunchTracker::Graphs::kOutside};
  // Last reported duration in ns, by history, configuration, and name id + 1.
  std::unordered_map<std::uint64_t, std::uint64_t> last_ns_;
  struct Counts {
    std::uint64_t dropped = 0;      // launches whose duration never became known
    std::uint64_t imputed = 0;      // launches with an imputed duration
    std::uint64_t implausible = 0;  // durations treated as unknown
    std::uint64_t over_limit = 0;   // launches that the engine refused
  };
  Counts counts_;
};

}  // namespace stemtap::session
