// SPDX-License-Identifier: Apache-2.0
//
// TracerGate is the sampler inside a tracer, where CUPTI cannot run (an NVBit tool): the tracer asks
// at each launch whether to capture it, and tells its duration afterwards.
//
//   ShouldCapture ─► gate table ─► yes / no, and an id        Observe(id, duration)
//                        ▲                                          │
//                        └── credits ◄── Engine ◄── launch order ◄──┘
//
// The engine and all it decides are those of a live session; only the way in differs. Ids count
// launches from 0, and are the launch indices of the plan.
//
// A captured launch is instrumented, and its duration says nothing: the tracer tells
// kUnknownDuration, and the last duration told of the same context stands in: of the same history (see
// context_key.h) as the gate's credit was for, else of the configuration, else of the kernel. One
// duration, not a mean: where a context has two modes a mean would be of neither, and a cluster that
// nothing falls into would get the capture. Total and cluster counts then stay right on average. A launch captured at first sight waits for the next launch of its kernel, at
// most kFirstSightWait launches. What never becomes known is given up, and counted as dropped.
//
// THREADS: any; calls are serialised by a mutex. An epoch of the engine runs inside Observe: some
// milliseconds now and then, with the application waiting.
#pragma once

#include <array>
#include <chrono>
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
#include "base/unix_ms.h"
#include "model/plan.h"
#include "sampling/sampling_options.h"
#include "session/engine.h"
#include "session/overview_file.h"
#include "session/session_writer.h"
#include "session/timeline.h"
#include "shm/context_key.h"
#include "shm/launch_draw.h"
#include "shm/record.h"

namespace stemtap {

struct TracerGateOptions {
  SamplingOptions sampling;
  OptionList listed;   // for plan.json and session.json
  std::string folder;  // session folder to make; empty: no files
};

// TracerLaunch is what a tracer knows of a launch before it runs. `record` holds device, stream,
// grid, block and shared bytes; the rest of it is not read.
struct TracerLaunch {
  std::string_view name;
  shm::KernelRecord record;
};

class TracerGate {
 public:
  static constexpr std::uint64_t kUnknownDuration = shm::kUnknownTime;
  // 104 days: longer is a clock that went backwards, and taken as unknown.
  static constexpr std::uint64_t kMostDuration = std::uint64_t{1} << 53;
  // Launches behind a first sight wait with it, and the gate learns nothing of them meanwhile. A loop
  // over the layers of a model repeats its kernels well within 256; a longer wait would serve start-up
  // kernels that never come back.
  static constexpr std::uint64_t kFirstSightWait = 256;
  // Launches whose duration is outstanding; the oldest is given up beyond. 88 bytes each, as many as the
  // collector holds to restore an order (LaunchSequencer::kWindow).
  static constexpr std::size_t kMostPending = std::size_t{1} << 16;

  struct Answer {
    std::uint64_t id = 0;
    bool capture = false;
  };

  // An exclude pattern that is none, or a folder that cannot be made.
  static Result<std::unique_ptr<TracerGate>> Open(const TracerGateOptions& options);

  Answer ShouldCapture(const TracerLaunch& launch);

  // False for an id that was never given, was told before, or has been given up.
  bool Observe(std::uint64_t id, std::uint64_t duration_ns);

  // Nothing will be known of launch `id`: it is counted as dropped, and its credit given back. False
  // as Observe.
  bool Abandon(std::uint64_t id);

  // Ends the sampler, and writes the session when there is a folder. Call once.
  Result<Plan> Close();

 private:
  enum class State : std::uint8_t { kRunning, kDurationUnknown, kKnown, kAbandoned };
  struct Pending {
    shm::KernelRecord record;
    std::uint64_t history_key = 0;
    std::uint64_t config_key = 0;
    State state = State::kRunning;
  };

  TracerGate(const TracerGateOptions& options, std::unique_ptr<SessionWriter> writer,
             MaskWriter mask);

  static std::array<std::uint64_t, 3> KeysOf(const Pending& launch) {
    return {launch.history_key, launch.config_key, std::uint64_t{launch.record.name_id} + 1};
  }
  // The launch `id` if its duration is outstanding, else null.
  Pending* Running(std::uint64_t id);
  // Whether the duration of the oldest launch is known, if need be from others of its context.
  bool Settle(Pending& launch) const;
  void Drain();
  void GiveUpOldest();
  // The credit of a capture that was not made is there again, first sights after a pause.
  void Refund(const shm::KernelRecord& record);

  TracerGateOptions options_;
  std::unique_ptr<SessionWriter> writer_;
  MaskWriter mask_;
  std::unique_ptr<shm::GateTable> table_ = std::make_unique<shm::GateTable>();
  shm::LaunchDraws draws_;  // by launch id
  WorkerPool pool_{1};
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::uint64_t started_unix_ms_ = UnixMs();
  Timeline timeline_;
  Engine engine_;

  std::mutex mutex_;
  std::deque<Pending> pending_;  // launches first_ ... in launch order
  std::uint64_t first_ = 0;
  // By name id: launches to come before the next capture at first sight; kExplored: it was made.
  // Where it comes to nothing, the pause doubles.
  static constexpr std::uint32_t kExplored = ~std::uint32_t{0};
  struct FirstSight {
    std::uint32_t pause = 0;
    std::uint32_t last_pause = 0;
  };
  std::vector<FirstSight> first_sights_;
  std::unordered_map<std::uint64_t, shm::LaunchHistory> histories_;
  // Last duration told, ns: by history, by configuration, by name id + 1.
  std::unordered_map<std::uint64_t, std::uint64_t> last_ns_;
  std::uint64_t given_up_ = 0;
  std::uint64_t stood_in_ = 0;    // durations that others stand in for
  std::uint64_t absurd_ = 0;      // durations that cannot be
  std::uint64_t over_limit_ = 0;  // launches that the engine refused
};

}  // namespace stemtap
