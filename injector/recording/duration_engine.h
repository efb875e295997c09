// SPDX-License-Identifier: Apache-2.0
//
// DurationEngine records the duration of every kernel: it lends buffers to CUPTI, decodes the
// returned records, and pushes them into the ring.
//
//   launching thread ──Request──► pool     CUPTI worker or flusher ──Complete──► decode ──► ring
//   flusher: every 200 ms calls FlushAll(0), counts records that CUPTI dropped, refills the pool,
//            maps the gate, compares CUPTI's clock to ours, reclaims CUPTI from a profiler that has
//            stopped, sums up the overhead, and stops recording if it is too high
//
// THREADS: Request runs on application threads and only pops a buffer. Complete runs on CUPTI's
// worker or on the flusher; a spin lock serializes them into one producer. The only CUPTI call
// under that lock is cuptiActivityGetNextRecord, which only reads the buffer and takes no lock that
// another thread could hold while it waits for ours (otherwise: the deadlock of kineto#1347).
#pragma once

#include <atomic>
#include <cstdint>

#include "gate/pending_captures.h"
#include "recording/buffer_pool.h"
#include "recording/clock_check.h"
#include "recording/decoder.h"
#include "recording/name_ids.h"
#include "recording/name_pointers.h"
#include "recording/name_reader.h"
#include "recording/overhead_budget.h"
#include "startup/cupti_api.h"
#include "startup/options.h"
#include "startup/runtime.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class DurationEngine {
 public:
  // Sets up CUPTI and starts the flusher. On failure writes the reason to `problem` and returns
  // false.
  bool Start(const CuptiApi& api, SessionFiles& files, const Options& options, char* problem,
             std::size_t problem_size) noexcept;

  // Fetches the remaining records and marks the ring as closed. Waits at most kExitMs.
  void Stop() noexcept;

  // Sets a function that the flusher calls in each period and once at the end. Call before Start.
  void AlsoCall(void (*watch)(void*), void* argument) noexcept {
    watch_ = watch;
    watched_ = argument;
  }

  // Called in a forked child, where CUPTI's threads do not exist and its calls would hang. Written
  // by the child, read by callbacks and the flusher; relaxed.
  void Abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }
  bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }

  PendingCaptures& pending() noexcept { return pending_; }
  // Returns whether records are still expected. For the function set by AlsoCall, on the flusher.
  bool recording() const noexcept { return !stopped_ && !refused(); }

 private:
  // Long enough to fetch and decode all buffers, short enough not to delay program exit noticeably.
  // Records that are not fetched by then are dropped and not counted as kept.
  static constexpr std::uint32_t kExitMs = 500;
  // CUPTI may return buffers from another thread after the last flush has returned.
  static constexpr std::uint32_t kLateMs = 100;
  // If a program ends after this long without a kernel, the session reports it: either no kernel
  // ran, or another profiler took over CUPTI and kept it.
  static constexpr std::uint64_t kSilenceNs = 10'000'000'000;
  // A kernel cannot have run longer than recording, except for clock adjustments of at most this
  // much.
  static constexpr std::uint64_t kSlackNs = 60'000'000'000;
  // From a CUPTI that is newer than known, the first this many records must all look right.
  static constexpr std::uint32_t kOnProbation = 64;
  // Number of activity kinds that enabled_ has a bit for; CUPTI has 60 so far.
  static constexpr std::uint32_t kKinds = 64;
  // Records pushed into the ring at a time: 16 KiB, half of an L1 cache.
  static constexpr std::uint32_t kStaged = 256;

  static void CUPTIAPI OnRequest(std::uint8_t** buffer, std::size_t* size,
                                 std::size_t* max_records);
  static void CUPTIAPI OnComplete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size,
                                  std::size_t valid_size);
  static void* FlusherMain(void* self);

  bool ClaimCupti(char* problem, std::size_t problem_size) noexcept;
  CUptiResult Enable(CUpti_ActivityKind kind) noexcept;
  void EnableGraphs() noexcept;
  bool MarksStand() const noexcept;
  bool refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  void TakeBack() noexcept;
  void CountCost(bool heard) noexcept;
  void SwitchOff() noexcept;
  void StopRecording() noexcept;
  void NoteSilence() noexcept;
  void Flush(bool forced) noexcept;
  void CheckClock() noexcept;
  void SayClockReplaced() noexcept;
  void AwaitLateBuffers() noexcept;
  void RunFlusher() noexcept;
  void DecodeBuffer(std::uint8_t* buffer, std::size_t valid_size) noexcept;
  void DecodeOne(const void* activity) noexcept;
  void DecodeOneGraph(const void* activity) noexcept;
  bool Usable(Decoded decoded, const shm::KernelRecord& kernel) noexcept;
  bool PushKernel(std::uint32_t id, shm::KernelRecord& kernel) noexcept;
  bool Deliver(Decoded decoded, shm::KernelRecord& kernel, const char* name) noexcept;
  std::uint32_t IdOf(const char* name) noexcept;
  std::uint32_t ReadName(const char* name) noexcept;
  std::uint32_t Define(const char* name, std::uint32_t length) noexcept;
  void StageName(std::uint32_t id, const char* name, std::uint32_t length,
                 std::uint64_t hash) noexcept;
  bool MakeRoom(std::uint32_t records) noexcept;
  void Stage(const void* record) noexcept;
  void LoseRecord(shm::Loss loss) noexcept;
  bool PassesProbation(const shm::KernelRecord& kernel, const char* name) noexcept;
  bool Refuse() noexcept;
  void PushStaged() noexcept;

  CuptiApi api_;
  SessionFiles* files_ = nullptr;
  std::uint32_t flush_ms_ = 0;
  Level level_ = Level::kKernels;
  void (*watch_)(void*) = nullptr;
  void* watched_ = nullptr;
  std::atomic<bool> abandoned_{false};

  BufferPool pool_;
  PendingCaptures pending_;
  ClockCheck clock_;
  std::atomic<bool> said_clock_replaced_{false};

  // Number of calls from CUPTI, by which the flusher detects that it still receives data. Written
  // by the callbacks, read by the flusher; relaxed.
  std::atomic<std::uint64_t> calls_{0};
  // Accessed only by the flusher once it runs, except started_ns_, which is constant by then.
  std::uint64_t calls_seen_ = 0;
  std::uint64_t started_ns_ = 0;
  std::uint64_t heard_ns_ = 0;   // when the flusher last saw a new call
  bool took_back_ = false;       // another profiler has used CUPTI
  bool marks_readable_ = false;  // CUPTI returns the attributes that we set
  bool stopped_ = false;         // recording stopped because it cost too much
  std::uint64_t enabled_ = 0;    // bit n: we have enabled kind n
  OverheadBudget budget_;
  std::uint64_t flusher_ns_ = 0;           // flusher CPU time counted so far
  std::atomic<std::uint64_t> flusher_{0};  // the flusher's ThreadNumber, read by callbacks; relaxed

  // 0 run, 1 stop requested, 2 stopped. Stop writes 1 and the flusher writes 2 (release); each
  // waits for the other's value (acquire).
  std::atomic<std::uint32_t> stop_{0};
  // Never changes, so that waiting on it is a sleep.
  std::atomic<std::uint32_t> never_{0};

  // Guarded by producer_lock_.
  SpinLock producer_lock_;
  NameIds names_;
  NamePointers pointers_;
  NameReader reader_;
  // Storage for kStaged shm::Records, as bytes because a Record's initial state is not all zero
  // bits (see entry.cpp).
  alignas(shm::Record) unsigned char staged_[kStaged * shm::kRecordBytes] = {};
  std::uint32_t staged_count_ = 0;
  std::uint64_t longest_ns_ = 0;   // maximum plausible duration of a kernel in the current buffer
  std::uint64_t decoding_ns_ = 0;  // CLOCK_REALTIME when the current buffer arrived
  std::uint32_t probation_ = 0;    // records that must still look right
  // A record on probation looked wrong, so nothing more is decoded. Written under producer_lock_,
  // read by the flusher without it; relaxed.
  std::atomic<bool> refused_{false};
  // The ring is closed and the reader relies on its counts. Buffers of threads that launch while
  // the process exits arrive too late.
  bool closed_ = false;
  std::uint32_t staged_kernels_ = 0;  // kernel records among the staged records
  // Minimum free records in the ring besides the staged ones; the reader only adds room.
  std::size_t ring_room_ = 0;
};

}  // namespace stemtap::inject
