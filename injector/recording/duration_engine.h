// SPDX-License-Identifier: Apache-2.0
//
// DurationEngine records the duration of every kernel: it lends buffers to CUPTI, decodes the
// returned records, and pushes them into the ring.
//
//   launching thread ──Request──► pool     CUPTI worker or flusher ──Complete──► decode ──► ring
//   flusher: every 200 ms, and more often at first, calls FlushAll(0), counts records that CUPTI
//            dropped, refills the pool, maps the gate, compares CUPTI's clock to ours, reclaims
//            CUPTI from a profiler that has stopped, sums up the overhead, and stops recording if
//            it is too high; switches recording off and on as requested in the ring; ends the
//            process when the program's last thread has ended
//
// THREADS: Request runs on application threads: it pops a buffer, and the first call wakes the
// flusher. Complete runs on CUPTI's worker or on the flusher; a spin lock serializes them into one
// producer.
#pragma once

#include <atomic>
#include <cstdint>

#include "recording/buffer_pool.h"
#include "recording/cupti_claim.h"
#include "recording/flusher_signals.h"
#include "recording/overhead_budget.h"
#include "recording/record_decoder.h"
#include "startup/cupti_api.h"
#include "startup/options.h"
#include "startup/recording_threads.h"
#include "startup/runtime.h"
#include "startup/session_files.h"

namespace stemtap::inject {

// MEMBERS: one object for each task of the flusher above; they begin and end together.
class DurationEngine {
 public:
  // Sets up CUPTI and starts the flusher. On failure writes the reason to `problem` and returns
  // false. `threads.BeginSetup` was called before CUPTI was loaded.
  bool Start(const CuptiApi& api, SessionFiles& files, const Options& options,
             RecordingThreads& threads, char* problem, std::size_t problem_size) noexcept;

  // Fetches the remaining records and marks the ring as closed. Waits at most kExitMs for the
  // flusher, or does it itself on the flusher.
  void Stop() noexcept;

  // Sets a function that the flusher calls in each period and once at the end. Call before Start.
  // `watch` returns false if the recording cannot be switched off yet.
  void AlsoCall(bool (*watch)(void*), void* argument) noexcept {
    watch_ = watch;
    watched_ = argument;
  }

  // Sets the function that the producer calls with captures whose records are lost. Call before
  // Start.
  void OnLostCapture(LostCapture* call, void* gate) noexcept { decoder_.OnLostCapture(call, gate); }

  // Sets the names of graphs. Call before Start at level graph.
  void SetGraphNames(GraphNames& names) noexcept { decoder_.SetGraphNames(names); }
  // Returns whether graph launches are timed as one. Call after Start.
  bool times_graphs() const noexcept { return claim_.times_graphs(); }

  // Called in a forked child, where CUPTI's threads do not exist and its calls would hang. Written
  // by the child, read by callbacks and the flusher; relaxed.
  void Abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }
  bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }

  PendingCaptures& pending() noexcept { return decoder_.pending(); }
  LaunchPlaces& places() noexcept { return decoder_.places(); }
  // Returns whether new launches are to be recorded. For the function set by AlsoCall, on the
  // flusher.
  bool recording() const noexcept { return is_on_ && !wants_off_ && !ended(); }
  // Returns whether no launch will be recorded any more. As recording().
  bool ended() const noexcept { return stopped_ || decoder_.refused(); }
  // Ends the sleep of the flusher, so that it applies a request soon. Any thread.
  void Wake() noexcept { stop_.Wake(); }

 private:
  // Long enough to fetch and decode all buffers, short enough not to delay program exit noticeably.
  // Records that are not fetched by then are dropped and not counted as kept.
  static constexpr std::uint32_t kExitMs = 500;
  // CUPTI may return buffers from another thread after the last flush has returned.
  static constexpr std::uint32_t kLateMs = 100;
  // If a program ends after this long without a kernel, the session reports it: either no kernel
  // ran, or another profiler took over CUPTI and kept it.
  static constexpr std::uint64_t kSilenceNs = 10'000'000'000;

  // Unless STEMTAP_FLUSH_MS is set, records are fetched each time that the time since the first
  // ones has grown by an eighth, within these limits. With 200 ms from the start, a run of 0.6 s on
  // an H100 had a bound of 20 %.
  static constexpr std::uint32_t kMinPeriodMs = 10;
  static constexpr std::uint32_t kMaxPeriodMs = 200;
  static constexpr std::uint32_t kPeriodsOfRun = 8;

  // If another profiler has replaced CUPTI's clock and two flushes in a row bring nothing, it has
  // CUPTI, or a kernel has been running since. Then only each 16th period flushes: a flush takes
  // the profiler's buffers too, and Kineto does not mark the end of a profile if it has no buffer
  // left. If smaller, more ends are missed; if larger, records of long kernels are fetched later.
  static constexpr std::uint32_t kUnheardPeriods = 16;

  static void CUPTIAPI OnRequest(std::uint8_t** buffer, std::size_t* size,
                                 std::size_t* max_records);
  static void CUPTIAPI OnComplete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size,
                                  std::size_t valid_size);
  static void* FlusherMain(void* self);
  static std::uint64_t RecordClock() noexcept;

  void CountCost(bool heard) noexcept;
  void Release() noexcept;
  void StopRecording() noexcept;
  void ApplyRequest() noexcept;
  void SwitchOn() noexcept;
  void SwitchOff() noexcept;
  void NoteSilence() noexcept;
  void Flush(bool forced) noexcept;
  void AwaitLateBuffers() noexcept;
  std::uint32_t PeriodMs() noexcept;
  void RunFlusher() noexcept;
  void RunPeriod() noexcept;
  void Finish() noexcept;

  CuptiApi api_;
  SessionFiles* files_ = nullptr;
  RecordingThreads* threads_ = nullptr;
  std::uint32_t flush_ms_ = 0;  // 0: by the time since the first records
  bool (*watch_)(void*) = nullptr;
  void* watched_ = nullptr;
  std::atomic<bool> abandoned_{false};

  BufferPool pool_;
  SpinLock producer_lock_;
  RecordDecoder decoder_;  // decodes and closes under producer_lock_

  CallCounter calls_;  // by which the flusher detects that it still receives data
  // CUPTI has requested a buffer. Written by OnRequest on launching threads, read by the flusher;
  // relaxed: it publishes no other data. Unused if STEMTAP_FLUSH_MS is set.
  std::atomic<bool> asked_{false};
  // Accessed only by the flusher once it runs.
  std::uint64_t first_ns_ = 0;  // when asked_ was seen
  std::uint32_t unheard_ = 0;   // periods since the last callback
  bool stopped_ = false;  // recording stopped because of its cost, or because no collector reads it
  bool wants_off_ = false;  // the recording is to be off
  bool is_on_ = false;      // CUPTI is claimed, unless another profiler has taken it
  CuptiClaim claim_;
  OverheadBudget budget_;
  std::uint64_t flusher_ns_ = 0;           // flusher CPU time counted so far
  std::atomic<std::uint64_t> flusher_{0};  // the flusher's ThreadNumber, read by callbacks; relaxed
  StopRequest stop_;
};

}  // namespace stemtap::inject
