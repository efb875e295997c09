// SPDX-License-Identifier: Apache-2.0
//
// DurationEngine records the duration of every kernel: it lends CUPTI buffers, decodes what comes
// back, and pushes it into the ring.
//
//   launching thread ──Request──► pool     CUPTI worker or flusher ──Complete──► decode ──► ring
//   flusher: FlushAll(0) every 200 ms, counts what CUPTI dropped, refills the pool, maps the gate,
//            compares CUPTI's clock to ours, takes CUPTI back from a profiler that has stopped,
//            adds up what all this costs, and stops when that is too much
//
// THREADS: Request runs on application threads and does nothing but pop a buffer. Complete runs on
// CUPTI's worker or on our flusher; a spin lock makes them one producer. That lock is held across
// cuptiActivityGetNextRecord alone, which only reads the buffer handed to us and takes no lock that
// could be waiting for ours (kineto#1347 is what happens otherwise).
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
  // Sets CUPTI up and starts the flusher. On failure says why in `problem`.
  bool Start(const CuptiApi& api, SessionFiles& files, const Options& options, char* problem,
             std::size_t problem_size) noexcept;

  // Fetches what is left and says goodbye in the ring. Waits at most kExitMs.
  void Stop() noexcept;

  // What the flusher calls at each turn, and once more at the end. Before Start.
  void AlsoCall(void (*watch)(void*), void* argument) noexcept {
    watch_ = watch;
    watched_ = argument;
  }

  // In a forked child: CUPTI's threads are gone there and its calls would hang.
  void Abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }
  bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }

  PendingCaptures& pending() noexcept { return pending_; }
  // Whether records still come. For the flusher, in what it calls besides.
  bool recording() const noexcept { return !stopped_ && !refused(); }

 private:
  // Long enough to fetch and decode every buffer there can be, short enough that nobody notices at
  // the end of a program; what is not fetched by then is lost and not counted as kept.
  static constexpr std::uint32_t kExitMs = 500;
  // CUPTI may bring buffers back from another thread after the last flush has returned.
  static constexpr std::uint32_t kLateMs = 100;
  // A program that ends after so long a time without a kernel is told of: either there was none, or
  // another profiler took CUPTI over and has kept it.
  static constexpr std::uint64_t kSilenceNs = 10'000'000'000;
  // A kernel cannot have run for longer than we do, but for what clocks are slewed in that time.
  static constexpr std::uint64_t kSlackNs = 60'000'000'000;
  // Of a CUPTI that is newer than known, so many records must look right, one after another.
  static constexpr std::uint32_t kOnProbation = 64;
  // Kinds that enabled_ has a bit for; there are 60 so far.
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

  // Calls from CUPTI, so that the flusher can tell whether it still hears from it.
  std::atomic<std::uint64_t> calls_{0};
  // The flusher's own.
  std::uint64_t calls_seen_ = 0;
  std::uint64_t started_ns_ = 0;
  std::uint64_t heard_ns_ = 0;   // when it last saw one more
  bool took_back_ = false;       // another profiler has had CUPTI
  bool marks_readable_ = false;  // CUPTI gives back the attributes that we set
  bool stopped_ = false;         // it cost too much
  std::uint64_t enabled_ = 0;    // bit n: we have switched kind n on
  OverheadBudget budget_;
  std::uint64_t flusher_ns_ = 0;           // the flusher's time that is counted
  std::atomic<std::uint64_t> flusher_{0};  // its ThreadNumber

  // The flusher waits on this word: 0 run, 1 stop wanted, 2 stopped.
  std::atomic<std::uint32_t> stop_{0};
  // Never changes, so that waiting for it is sleeping.
  std::atomic<std::uint32_t> never_{0};

  // Under producer_lock_.
  SpinLock producer_lock_;
  NameIds names_;
  NamePointers pointers_;
  NameReader reader_;
  // Bytes of kStaged shm::Records: a Record's own zero state is not all zero bits, see entry.cpp.
  alignas(shm::Record) unsigned char staged_[kStaged * shm::kRecordBytes] = {};
  std::uint32_t staged_count_ = 0;
  std::uint64_t longest_ns_ = 0;   // that a kernel of the buffer at hand can have run
  std::uint64_t decoding_ns_ = 0;  // CLOCK_REALTIME when the buffer at hand came
  std::uint32_t probation_ = 0;    // records that still have to look right
  // One did not: nothing more is decoded. Written under the lock, read by the flusher without.
  std::atomic<bool> refused_{false};
  // The goodbye is said, and the reader goes by its counts: buffers of threads that launch on while
  // the process exits are too late.
  bool closed_ = false;
  std::uint32_t staged_kernels_ = 0;  // kernel records among them
  std::size_t ring_room_ =
      0;  // room known in the ring beyond what is staged; the reader only adds to it
};

}  // namespace stemtap::inject
