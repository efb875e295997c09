// SPDX-License-Identifier: Apache-2.0
//
// LaunchGate decides at every launch whether to capture it, and calls the actuator before and after
// each captured launch.
//
//   ENTER of a launch ─► context keys ─► gate table ─► credit? ─► token? ─► pending, actuator on
//   EXIT                                                                    actuator off
//   flusher: Watch ─► a capture that does not return is the last one
//
// The gate subscribes only to driver callbacks of launches, and of stream captures if the actuator
// acts. Every runtime launch nests a driver launch with the same correlation id. The gate never
// captures:
//   - cooperative launches, and kernels that wait for other GPUs (shm/deny_list.h): they would
//     hang under a tracer
//   - graph launches, whose kernels are timed but not gated
//   - cuLaunchCooperativeKernelMultiDevice and cuLaunchGrid, which are not subscribed
// A launch into a stream that is being captured into a graph does not run and does not count. While
// any stream is being captured, an actuator that acts captures nothing, because CUDA calls that are
// forbidden during stream capture would invalidate the graph.
//
// THREADS: OnCallback runs concurrently on any application thread. It takes no lock and allocates
// nothing. It calls CUDA only for a launch that is about to be captured: to query the stream's
// capture status and to switch the actuator on and off. Watch runs on the flusher.
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
  // Loads the actuator and registers Watch with the engine's flusher. `driver` is the libcuda that
  // provides cuStreamIsCapturing, cuProfilerStart and cuProfilerStop. Returns false with the reason
  // in `problem` if nothing can be captured. Call before engine.Start.
  bool Init(const Options& options, SessionFiles& files, DurationEngine& engine, void* driver,
            char* problem, std::size_t size) noexcept;

  // Enables the launch callbacks. Returns false with the failing cbid in `failed` if CUPTI refuses
  // a required one.
  bool EnableCallbacks(const CuptiApi& api, CUpti_SubscriberHandle subscriber,
                       std::uint32_t& failed) noexcept;

  // Called at program exit: stops captures and calls the actuator's Exit.
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
    // Not captured: the launch becomes a graph node, or another thread captured its kernel first.
    kPassed,
    kDenied,     // cannot be captured now
    kThrottled,  // the limit of captures per second is reached
    kRefused     // the actuator refused
  };

  // Shape caches the configuration key of a recent launch shape of a kernel, because computing the
  // key costs more than the rest of the gate. Any launching thread writes and reads both words,
  // relaxed. If two writers mix their words, the check fails and the key is recomputed.
  struct Shape {
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint64_t> check{0};  // key ^ fold of name and shape
  };
  // If a kernel alternates between more shapes than this, colliding shapes recompute their keys.
  static constexpr std::uint32_t kShapes = 4;

  // Function caches what the gate needs for a CUfunction, found by pointer. Any launching thread
  // fills an entry; the release store of name_hash publishes the other members.
  struct alignas(64) Function {
    std::atomic<const void*> function{nullptr};
    std::atomic<const char*> symbol{nullptr};
    // Parts of the name, to detect that both pointers now denote another kernel: a module loaded in
    // the place of an unloaded one may reuse its addresses. length_denied is length * 2, plus 1 if
    // the kernel is never captured.
    std::atomic<std::uint64_t> length_denied{0};
    std::atomic<std::uint64_t> pieces{0};
    std::atomic<std::uint64_t> name_hash{0};  // 0: another thread is filling the entry
    Shape shapes[kShapes];
  };
  struct Stream {
    std::atomic<const void*> stream{nullptr};
    std::atomic<shm::LaunchHistory> history{0};
  };

  // 16,384 functions of 128 bytes (two cache lines) take 2 MiB, touched as they are used. With more
  // functions, entries evict each other, and a launch hashes and looks up its name again. Two of
  // the 256 streams that share an entry only disturb each other's history.
  static constexpr std::uint32_t kFunctions = 1u << 14;
  static constexpr std::uint32_t kStreams = 256;
  static constexpr std::uint32_t kExplored = 1u << 16;
  static constexpr std::uint32_t kProbe = 16;

  // The gate times one launch in this many to estimate its total cost. Two clock reads of 46 ns
  // then cost 0.2 ns per launch.
  static constexpr std::uint64_t kTimedEvery = 256;

  // How long Close waits for a capture in progress.
  static constexpr std::uint32_t kCloseMs = 100;

  void Enter(const Launch& launch, const CUpti_CallbackData& data) noexcept;
  // Returns whether the actuator was asked to capture the launch. `number`: number of the launch in
  // this process.
  bool Decide(const Launch& launch, const CUpti_CallbackData& data, std::uint64_t number) noexcept;
  // Captures the launch that is being entered; an exploratory launch only if no other thread
  // captured its kernel first. On any outcome other than kCaptured, the kernel stays unexplored and
  // the caller returns the credit. If the actuator acts, only one launch at a time is captured: its
  // switch affects the whole process, and the first capture to end would switch off the others.
  Outcome Capture(const Launch& launch, const CUpti_CallbackData& data,
                  PendingCaptures::Capture capture, std::uint64_t name_hash,
                  std::uint64_t number) noexcept;
  // REQUIRES: the caller holds actuator_taken_ (if the actuator acts) and a token.
  Outcome Begin(const Launch& launch, const CUpti_CallbackData& data,
                PendingCaptures::Capture capture, std::uint64_t name_hash,
                std::uint64_t number) noexcept;
  void Describe(const Launch& launch, const CUpti_CallbackData& data, bool exploratory,
                std::uint64_t number) noexcept;
  void LeaveActuator() noexcept;
  // Called after a captured launch returned.
  void Exit(const CUpti_CallbackData& data) noexcept;
  // Called after any other call returned, which may have ended a stream capture.
  void LeaveGraphCapture(CUpti_CallbackId cbid, const CUpti_CallbackData& data) noexcept;
  void NoteDenied(const char* symbol, const char* why) noexcept;
  // Runs on the flusher once per period.
  void Watch() noexcept;
  void TellDenied() noexcept;
  void Disarm(Watchdog::Alarm alarm) noexcept;
  void SwitchOff() noexcept;
  // Returns whether the launch only becomes a graph node.
  bool GoesIntoGraph(const Launch& launch) const noexcept;
  // Returns the entry of the function with this name, filling it if needed.
  Function& Known(const void* function, const char* symbol, bool& denied) noexcept;
  bool Learn(Function& entry, const void* function, const char* symbol) noexcept;
  static std::uint64_t ConfigKeyOf(Function& known, std::uint64_t name_hash,
                                   const shm::LaunchConfig& config) noexcept;
  std::atomic<shm::LaunchHistory>& HistoryOf(const void* stream) noexcept;
  // Unexplored returns whether the kernel has not been captured yet. Explore marks it as captured;
  // returns false if it already was.
  bool Unexplored(std::uint64_t name_hash) const noexcept;
  bool Explore(std::uint64_t name_hash) noexcept;

  SessionFiles* files_ = nullptr;
  DurationEngine* engine_ = nullptr;
  const CuptiApi* api_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  // Set at the end of EnableCallbacks on the initializing thread (release), read by SwitchOff
  // (acquire) and cleared there. From then on only the flusher switches callbacks, because CUPTI
  // allows one thread at a time.
  std::atomic<bool> callbacks_on_{false};
  CUresult (*is_capturing_)(CUstream, CUstreamCaptureStatus*) = nullptr;  // since CUDA 10.0
  Actuator actuator_;
  TokenBucket tokens_;
  std::uint32_t watchdog_ms_ = 0;
  // Held from start to stop if the actuator acts, by one thread at a time. Acquired by exchange
  // (acquire) in Capture, SwitchOff and Close; released (release) in LeaveActuator.
  std::atomic<bool> actuator_taken_{false};
  // Written by the flusher, Init and Close; read by launching threads. Relaxed: a concurrent launch
  // may still be captured.
  std::atomic<bool> disarmed_{false};
  // Number of streams that are being captured into graphs. Written by callbacks of stream captures,
  // read before a capture; relaxed.
  std::atomic<std::int32_t> graph_captures_{0};

  // The capture between start and stop. Accessed only by the thread that holds actuator_taken_.
  stemtap_capture current_ = {};
  // When that capture entered (0 if none; relaxed), and the name of the last captured kernel.
  // Written by the capturing thread, read by the flusher in Watch.
  std::atomic<std::uint64_t> entered_ns_{0};
  KernelNote captured_;

  // State of the first denied launch: 0 none, 1 being written, 2 to be reported, 3 reported. The
  // release store of 2 in NoteDenied pairs with the acquire in TellDenied.
  std::atomic<std::uint32_t> denied_state_{0};
  const char* denied_why_ = nullptr;
  KernelNote denied_;

  // Accessed only by the flusher.
  Watchdog watchdog_;
  char waited_for_[KernelNote::kBytes] = {};  // kernel captured when records stopped arriving
  // Disarmed because no records arrive; rearmed when they do.
  bool silent_ = false;

  Function functions_[kFunctions];
  Stream streams_[kStreams];
  std::atomic<std::uint64_t> explored_[kExplored] = {};  // name hashes of captured kernels
};

}  // namespace stemtap::inject
