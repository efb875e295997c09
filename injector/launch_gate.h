// SPDX-License-Identifier: Apache-2.0
//
// LaunchGate asks, at every launch, whether it is to be captured, and brackets those that are.
//
//   ENTER of cuLaunchKernel ─► context keys ─► gate table ─► credit? ─► pending, actuator on
//   EXIT                                                                 actuator off
//
// Only driver launch callbacks are subscribed: every runtime launch nests one with the same
// correlation id. Never captured: cooperative launches and communication kernels (nccl*, nvshmem*),
// which wait for others and would hang under a tracer. Graph launches pass: their kernels are
// timed, not gated; nor does a launch into a stream that is being captured into a graph count, for
// it does not run.
//
// THREADS: OnCallback runs on any application thread, concurrently; it takes no lock, allocates
// nothing, and calls CUDA only where a launch is to be captured: is its stream in a graph capture,
// actuator on, off.
#pragma once

#include <atomic>
#include <cstdint>

#include "cupti_api.h"
#include "duration_engine.h"
#include "options.h"
#include "session_files.h"
#include "wire/context_key.h"

namespace stemtap::inject {

class LaunchGate {
 public:
  // `driver` is the libcuda whose cuStreamIsCapturing, cuProfilerStart and Stop are called.
  void Init(const Options& options, SessionFiles& files, DurationEngine& engine,
            void* driver) noexcept;

  // Switches the launch callbacks on. False with the failing cbid in `failed` if CUPTI refuses one.
  bool EnableCallbacks(const CuptiApi& api, CUpti_SubscriberHandle subscriber,
                       std::uint32_t& failed) noexcept;

  static void CUPTIAPI OnCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                  const void* data);

 private:
  struct Launch {
    const void* function;
    const void* stream;
    wire::LaunchConfig config;
    bool cooperative;
  };

  // What is known of a CUfunction: found once, then a look-up by pointer.
  struct Function {
    std::atomic<const void*> function{nullptr};
    std::atomic<const char*> symbol{nullptr};
    // Pieces of the name, to notice that both pointers mean another kernel now: a module that is
    // loaded where an old one was may get the very same addresses.
    std::atomic<std::uint64_t> length{0};
    std::atomic<std::uint64_t> pieces{0};
    std::atomic<std::uint64_t> name_hash{0};  // 0: being filled in by another thread
    std::atomic<bool> denied{false};
  };
  struct Stream {
    std::atomic<const void*> stream{nullptr};
    std::atomic<wire::LaunchHistory> history{0};
  };

  // 16,384 functions at 48 bytes are 768 KiB, touched as they come; beyond, names are hashed at
  // each launch (tens of nanoseconds). 256 streams: two that share a place only spoil each other's
  // history.
  static constexpr std::uint32_t kFunctions = 1u << 14;
  static constexpr std::uint32_t kStreams = 256;
  static constexpr std::uint32_t kExplored = 1u << 16;
  static constexpr std::uint32_t kProbe = 16;

  void Enter(const Launch& launch, const CUpti_CallbackData& data) noexcept;
  // Captures the launch that is being entered (an exploratory one only if no other thread was first
  // with its name). False if there is no room to remember it, or if another thread's launch is
  // being profiled just then: the switch is the process's, and the first to end would switch the
  // other off. Nothing is lost: the name stays unexplored, the caller gives the credit back.
  bool Capture(const CUpti_CallbackData& data, PendingCaptures::Capture capture,
               std::uint64_t name_hash) noexcept;
  void LeaveActuator() noexcept;
  // After a captured launch returned.
  void Exit(const CUpti_CallbackData& data) noexcept;
  // Whether the launch only becomes a node of a graph.
  bool GoesIntoGraph(const Launch& launch) const noexcept;
  void NameOf(const void* function, const char* symbol, std::uint64_t& hash, bool& denied) noexcept;
  std::atomic<wire::LaunchHistory>& HistoryOf(const void* stream) noexcept;
  // Whether the name has not been captured yet; Explore says that it is now, false if it was
  // already.
  bool Unexplored(std::uint64_t name_hash) const noexcept;
  bool Explore(std::uint64_t name_hash) noexcept;

  SessionFiles* files_ = nullptr;
  DurationEngine* engine_ = nullptr;
  CUresult (*is_capturing_)(CUstream, CUstreamCaptureStatus*) = nullptr;  // CUDA 10.0 on
  CUresult (*profiler_start_)() = nullptr;   // null: the actuator only logs
  CUresult (*profiler_stop_)() = nullptr;    // there if the other is
  std::atomic<bool> actuator_taken_{false};  // from start to stop; one thread at a time

  Function functions_[kFunctions];
  Stream streams_[kStreams];
  std::atomic<std::uint64_t> explored_[kExplored] = {};  // hashes of names that were captured once
};

}  // namespace stemtap::inject
