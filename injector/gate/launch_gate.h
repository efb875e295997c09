// SPDX-License-Identifier: Apache-2.0
//
// LaunchGate decides at every launch whether to capture it, and calls the actuator before and after
// each captured launch.
//
//   ENTER of a launch ─► context keys ─► gate table ─► credit? ─► token? ─► pending, actuator on
//   EXIT                                                                    actuator off
//   flusher: Watch ─► a capture that does not return is the last one
//
// The gate subscribes only to driver callbacks of launches and stream captures. Every runtime
// launch nests a driver launch with the same correlation id. The gate counts the launches that must
// have a record, so that missing records show. It never captures:
//   - cooperative launches, and kernels that wait for other GPUs (shm/deny_list.h): they would
//     hang under a tracer
//   - graph launches, whose kernels are timed but not gated
//   - cuLaunchCooperativeKernelMultiDevice and cuLaunchGrid, which are not subscribed
// A launch into a stream that is being captured into a graph does not run and does not count. While
// any stream is being captured, an actuator that acts captures nothing, because CUDA calls that are
// forbidden during stream capture would invalidate the graph.
//
// THREADS: OnCallback runs concurrently on any application thread. It takes no lock and allocates
// nothing. It calls CUDA only to switch the actuator on and off, and to query the capture status of
// a stream: before a launch is captured, and while any stream is being captured into a graph. Watch
// runs on the flusher.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/exclusive_actuator.h"
#include "control/launch_ranges.h"
#include "gate/capture_watch.h"
#include "gate/denied_launch.h"
#include "gate/explored_kernels.h"
#include "gate/function_cache.h"
#include "gate/graph_captures.h"
#include "recording/duration_engine.h"
#include "shm/gate_client.h"
#include "startup/cupti_api.h"
#include "startup/options.h"
#include "startup/session_files.h"

namespace stemtap::inject {

struct LaunchCall;

class LaunchGate {
 public:
  // Loads the actuator and registers Watch with the engine's flusher. `driver` is the libcuda that
  // provides cuStreamIsCapturing, cuProfilerStart and cuProfilerStop. Returns false with the reason
  // in `problem` if nothing can be captured. Call before engine.Start.
  bool Init(const Options& options, SessionFiles& files, DurationEngine& engine, void* driver,
            char* problem, std::size_t size) noexcept;

  // Enables the callbacks; callbacks of launches only if recording is not off. Returns false with
  // the failing cbid in `failed` if CUPTI refuses a required one.
  bool EnableCallbacks(const CuptiApi& api, CUpti_SubscriberHandle subscriber,
                       std::uint32_t& failed) noexcept;

  // Called at program exit: stops captures and calls the actuator's Exit.
  void Close() noexcept;

  static void CUPTIAPI OnCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                  const void* data);

 private:
  enum class Outcome : std::uint8_t {
    kCaptured,
    // Not captured: the launch becomes a graph node, another thread captured its kernel first, or
    // the program has paused recording.
    kPassed,
    kDenied,     // cannot be captured now
    kThrottled,  // the limit of captures per second is reached
    kRefused     // the actuator refused
  };

  // A launch that the gate decided to capture.
  struct Chosen {
    const LaunchCall& call;
    const CUpti_CallbackData& data;
    std::uint64_t number;  // of the launch in this process
    std::uint64_t name_hash;
    shm::GateAnswer answer;
  };

  // The gate times one launch in this many to estimate its total cost. Two clock reads of 46 ns
  // then cost 0.2 ns per launch.
  static constexpr std::uint64_t kTimedEvery = 256;

  // How long Close waits for a capture in progress.
  static constexpr std::uint32_t kCloseMs = 100;

  void Enter(const LaunchCall& call, const CUpti_CallbackData& data) noexcept;
  // Returns whether the actuator was asked to capture the launch. `number`: number of the launch in
  // this process.
  bool Decide(const LaunchCall& call, const CUpti_CallbackData& data,
              std::uint64_t number) noexcept;
  LaunchRanges::Launch Place(const CUpti_CallbackData& data) noexcept;
  // Captures the launch that is being entered; an exploratory launch only if no other thread
  // captured its kernel first. On any outcome other than kCaptured, the set of explored kernels is
  // unchanged and the caller refunds the credit.
  Outcome Capture(const Chosen& launch) noexcept;
  // REQUIRES: the caller holds the actuator and a token.
  Outcome Begin(const Chosen& launch) noexcept;
  bool StartActuator(const Chosen& launch) noexcept;
  // Returns whether the launch only becomes a node of a graph, and counts it.
  bool IsAdded(const LaunchCall& call, const CUpti_CallbackData& data) noexcept;
  // Called after a launch that was not captured failed.
  void CountFailed(CUpti_CallbackId cbid, const CUpti_CallbackData& data) noexcept;
  // Called after a captured launch returned.
  void Exit(const CUpti_CallbackData& data) noexcept;
  // Undoes a capture that has no record because its launch failed or its record was lost: returns
  // the credit, and an exploratory capture is made later. Any thread.
  void Return(const PendingCapture& capture) noexcept;
  // Runs on the flusher once per period. Enables the callbacks of launches while recording is on,
  // and disables them while it is off. Returns false if they must be disabled and a capture in
  // progress needs them.
  bool Watch() noexcept;
  // Callbacks are enabled up to this one. Callbacks of stream captures stay enabled while recording
  // is off: it may begin again while a stream is being captured.
  enum class Callbacks : std::uint8_t { kNone, kStreamCaptures, kLaunches };
  // Returns false with the failing cbid in `failed` if CUPTI refuses a required callback.
  bool Enable(Callbacks callbacks, std::uint32_t& failed) noexcept;
  bool DisableDownTo(Callbacks rest) noexcept;

  SessionFiles* files_ = nullptr;
  DurationEngine* engine_ = nullptr;
  const CuptiApi* api_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  // Set at the end of EnableCallbacks on the initializing thread (release), read by Watch
  // (acquire). From then on only the flusher switches callbacks, because CUPTI allows one thread at
  // a time.
  std::atomic<Callbacks> callbacks_{Callbacks::kNone};
  ExclusiveActuator actuator_;
  CaptureWatch watch_;
  GraphCaptures graph_captures_;
  DeniedLaunch denied_;
  FunctionCache functions_;
  StreamTable streams_;
  shm::GateClient<ExploredKernels> client_;
};

}  // namespace stemtap::inject
