// SPDX-License-Identifier: Apache-2.0
//
// LaunchGate asks, at every launch, whether it is to be captured, and brackets those that are.
//
//   ENTER of cuLaunchKernel ─► context keys ─► gate table ─► credit? ─► token? ─► pending, actuator on
//   EXIT                                                                           actuator off
//   flusher: Watch ─► a capture that does not come back is the last one
//
// Only driver callbacks of launches are subscribed (and, where the actuator acts, of stream
// captures): every runtime launch nests one with the same correlation id. Never captured: cooperative
// launches and kernels that wait for other GPUs
// (wire/deny_list.h), which would hang under a tracer; graph launches, whose kernels are timed, not gated;
// cuLaunchCooperativeKernelMultiDevice and cuLaunchGrid, which are not subscribed. A launch into a
// stream that is being captured into a graph does not run, and does not count; while any stream is,
// nothing is captured by an actuator that acts: a call of its that CUDA forbids during stream capture
// would spoil the graph.
//
// THREADS: OnCallback runs on any application thread, concurrently; it takes no lock, allocates
// nothing, and calls CUDA only where a launch is to be captured: is its stream in a graph capture,
// actuator on, off. Watch runs on the flusher.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/actuator.h"
#include "gate/token_bucket.h"
#include "gate/watchdog.h"
#include "recording/duration_engine.h"
#include "recording/kernel_note.h"
#include "shm/context_key.h"
#include "startup/cupti_api.h"
#include "startup/options.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class LaunchGate {
 public:
  // `driver` is the libcuda whose cuStreamIsCapturing, cuProfilerStart and Stop are called. False with
  // the reason in `problem` if nothing can be captured. Before engine.Start: its flusher shall Watch.
  bool Init(const Options& options, SessionFiles& files, DurationEngine& engine, void* driver,
            char* problem, std::size_t size) noexcept;

  // Switches the launch callbacks on. False with the failing cbid in `failed` if CUPTI refuses one.
  bool EnableCallbacks(const CuptiApi& api, CUpti_SubscriberHandle subscriber,
                       std::uint32_t& failed) noexcept;

  // At the end of the program: no more captures, and the actuator's goodbye.
  void Close() noexcept;

  static void CUPTIAPI OnCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                  const void* data);

 private:
  struct Launch {
    const void* function;
    const void* stream;
    shm::LaunchConfig config;
    bool cooperative;
    std::uint32_t shared_bytes;
  };

  enum class Outcome : std::uint8_t {
    kCaptured,
    kPassed,     // it need not be: it becomes a node of a graph, or another was first with its name
    kDenied,     // it cannot be just now
    kThrottled,  // ... for there were enough in this second
    kRefused     // ... says the actuator
  };

  // The configuration key of a shape that a kernel was launched in lately: to make it takes longer
  // than all the rest. Both words or none: words of two writers do not fit together, and are not
  // found.
  struct Shape {
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint64_t> check{0};  // key ^ fold of the name and the shape
  };
  // Where kernels are launched in more shapes by turns, those that share a place make it anew.
  static constexpr std::uint32_t kShapes = 4;

  // What is known of a CUfunction: found once, then a look-up by pointer.
  struct alignas(64) Function {
    std::atomic<const void*> function{nullptr};
    std::atomic<const char*> symbol{nullptr};
    // Pieces of the name, to notice that both pointers mean another kernel now: a module that is
    // loaded where an old one was may get the very same addresses.
    std::atomic<std::uint64_t> length_denied{0};  // twice the length, and 1 if it is never captured
    std::atomic<std::uint64_t> pieces{0};
    std::atomic<std::uint64_t> name_hash{0};  // 0: being filled in by another thread
    Shape shapes[kShapes];
  };
  struct Stream {
    std::atomic<const void*> stream{nullptr};
    std::atomic<shm::LaunchHistory> history{0};
  };

  // 16,384 functions at 128 bytes, two lines of a cache, are 2 MiB, touched as they come; beyond, they
  // take each other's places, and names are hashed and looked up at each launch. 256 streams: two that
  // share a place only spoil each other's history.
  static constexpr std::uint32_t kFunctions = 1u << 14;
  static constexpr std::uint32_t kStreams = 256;
  static constexpr std::uint32_t kExplored = 1u << 16;
  static constexpr std::uint32_t kProbe = 16;

  // One launch in so many is timed, for the sum of what the gate costs: two readings of the clock, 46
  // ns, are then 0.2 ns a launch.
  static constexpr std::uint64_t kTimedEvery = 256;

  // How long Close waits for a capture that is under way.
  static constexpr std::uint32_t kCloseMs = 100;

  void Enter(const Launch& launch, const CUpti_CallbackData& data) noexcept;
  // Whether the actuator was asked to capture the launch. `number`: of the launch, in this process.
  bool Decide(const Launch& launch, const CUpti_CallbackData& data, std::uint64_t number) noexcept;
  // Captures the launch that is being entered (an exploratory one only if no other thread was first
  // with its name). Whatever else comes out, nothing is lost: the name stays unexplored, the caller
  // gives the credit back. Where the actuator acts, one launch at a time: its switch is the process's,
  // and the first to end would switch the other off.
  Outcome Capture(const Launch& launch, const CUpti_CallbackData& data,
                  PendingCaptures::Capture capture, std::uint64_t name_hash,
                  std::uint64_t number) noexcept;
  // With the actuator's place and a token.
  Outcome Begin(const Launch& launch, const CUpti_CallbackData& data,
                PendingCaptures::Capture capture, std::uint64_t name_hash,
                std::uint64_t number) noexcept;
  void Describe(const Launch& launch, const CUpti_CallbackData& data, bool exploratory,
                std::uint64_t number) noexcept;
  void LeaveActuator() noexcept;
  // After a captured launch returned.
  void Exit(const CUpti_CallbackData& data) noexcept;
  // After any other call returned: it may have ended the capture of a stream into a graph.
  void LeaveGraphCapture(CUpti_CallbackId cbid, const CUpti_CallbackData& data) noexcept;
  void NoteDenied(const char* symbol, const char* why) noexcept;
  // On the flusher, at each turn.
  void Watch() noexcept;
  void TellDenied() noexcept;
  void Disarm(Watchdog::Alarm alarm) noexcept;
  void SwitchOff() noexcept;
  // Whether the launch only becomes a node of a graph.
  bool GoesIntoGraph(const Launch& launch) const noexcept;
  // What is known of the function, of this name.
  Function& Known(const void* function, const char* symbol, bool& denied) noexcept;
  bool Learn(Function& entry, const void* function, const char* symbol) noexcept;
  static std::uint64_t ConfigKeyOf(Function& known, std::uint64_t name_hash,
                                   const shm::LaunchConfig& config) noexcept;
  std::atomic<shm::LaunchHistory>& HistoryOf(const void* stream) noexcept;
  // Whether the name has not been captured yet; Explore says that it is now, false if it was
  // already.
  bool Unexplored(std::uint64_t name_hash) const noexcept;
  bool Explore(std::uint64_t name_hash) noexcept;

  SessionFiles* files_ = nullptr;
  DurationEngine* engine_ = nullptr;
  const CuptiApi* api_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  // EnableCallbacks is done, on the thread that initialises: from then on the callbacks are the
  // flusher's to switch, since CUPTI wants one thread at a time.
  std::atomic<bool> callbacks_on_{false};
  CUresult (*is_capturing_)(CUstream, CUstreamCaptureStatus*) = nullptr;  // CUDA 10.0 on
  Actuator actuator_;
  TokenBucket tokens_;
  std::uint32_t watchdog_ms_ = 0;
  // From start to stop, where the actuator acts; one thread at a time.
  std::atomic<bool> actuator_taken_{false};
  // Set by the flusher or at the end; relaxed: a launch that races with it is captured yet.
  std::atomic<bool> disarmed_{false};
  // Streams that are being captured into graphs; read where a launch is to be captured.
  std::atomic<std::int32_t> graph_captures_{0};

  // The capture between start and stop. Its thread's own, which holds actuator_taken_...
  stemtap_capture current_ = {};
  // ... and what the flusher may know: since when, 0: there is none; and the last one's name.
  std::atomic<std::uint64_t> entered_ns_{0};
  KernelNote captured_;

  // The first launch that was denied: 0 none yet, 1 being written, 2 to be told, 3 told.
  std::atomic<std::uint32_t> denied_state_{0};
  const char* denied_why_ = nullptr;
  KernelNote denied_;

  // The flusher's own.
  Watchdog watchdog_;
  char waited_for_[KernelNote::kBytes] = {};  // the kernel captured when records stopped to come
  bool silent_ = false;                       // disarmed since none came; armed again when they do

  Function functions_[kFunctions];
  Stream streams_[kStreams];
  std::atomic<std::uint64_t> explored_[kExplored] = {};  // hashes of names that were captured once
};

}  // namespace stemtap::inject
