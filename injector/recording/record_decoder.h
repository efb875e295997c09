// SPDX-License-Identifier: Apache-2.0
//
// RecordDecoder decodes activity buffers into the ring: it checks the records, leaves out kernels
// of pauses, marks the captured launches, and defines kernel names.
//
// THREADS: Decode and Close by one producer at a time, under the lock of the caller; CheckClock by
// the initializing thread, then the flusher; the rest from any thread. The only CUPTI call of
// Decode is cuptiActivityGetNextRecord, which only reads the buffer and takes no lock that another
// thread could hold while it waits for ours (otherwise: the deadlock of kineto#1347).
#pragma once

#include <atomic>
#include <cstdint>

#include "gate/launch_places.h"
#include "gate/pending_captures.h"
#include "recording/cupti_clock.h"
#include "recording/decoder.h"
#include "recording/definition_writer.h"
#include "recording/mark_sender.h"
#include "recording/name_ids.h"
#include "recording/name_pointers.h"
#include "recording/name_reader.h"
#include "recording/ring_writer.h"
#include "startup/cupti_api.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class GraphNames;

using LostCapture = void(void* gate, const PendingCapture& capture);

// MEMBERS: one table for each kind of definition that records refer to, and what the checks of a
// record depend on.
class RecordDecoder {
 public:
  void Init(const CuptiApi& api, SessionFiles& files) noexcept;

  void Decode(std::uint8_t* buffer, std::size_t valid_size) noexcept;
  // Ignores all later buffers.
  void Close() noexcept { closed_ = true; }

  // Sets the function to call with captures whose records are lost. Call before Decode.
  void OnLostCapture(LostCapture* call, void* gate) noexcept {
    on_lost_ = call;
    gate_ = gate;
  }

  // Sets the names of graphs. Call before Decode if graph launches are timed as one.
  void SetGraphNames(GraphNames& names) noexcept { graph_names_ = &names; }

  // Reads CUPTI's clock and ours. If CUPTI's is another clock than before, measures its rate, which
  // takes 11 ms, or 55 ms if all attempts fail.
  void CheckClock() noexcept;
  // Returns whether another profiler replaced CUPTI's clock.
  bool clock_is_replaced() const noexcept { return clock_.is_replaced(); }

  PendingCaptures& pending() noexcept { return pending_; }
  LaunchPlaces& places() noexcept { return places_; }
  // Returns whether a record on probation looked wrong. Nothing more is decoded then.
  bool refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  // A kernel cannot have run longer than recording, except for clock adjustments of at most this
  // much.
  static constexpr std::uint64_t kSlackNs = 60'000'000'000;
  // From a CUPTI that is newer than known, the first this many records must all look right.
  static constexpr std::uint32_t kOnProbation = 64;

  // Attempts to measure the rate of a replaced clock, and the time of each. It is slightly more
  // than CuptiClock::kShortestNs. An attempt fails if the thread is interrupted.
  static constexpr int kCalibrationAttempts = 5;
  static constexpr std::uint32_t kCalibrationMs = 11;

  void DecodeOne(const void* activity) noexcept;
  void DecodeOneGraph(const void* activity) noexcept;
  bool Usable(Decoded decoded, shm::KernelRecord& kernel) noexcept;
  bool ReadClocks(CuptiClock::Reading& reading) const noexcept;
  bool PushKernel(std::uint32_t id, shm::KernelRecord& kernel,
                  const shm::LaunchMark& mark) noexcept;
  bool Deliver(Decoded decoded, shm::KernelRecord& kernel, const char* name,
               const shm::LaunchMark& mark) noexcept;
  std::uint32_t PlaceOf(shm::KernelRecord& kernel) const noexcept;
  std::uint32_t RangedId(std::uint32_t id, std::uint32_t range) noexcept;
  std::uint32_t IdOf(const char* name) noexcept;
  std::uint32_t ReadName(const char* name) noexcept;
  std::uint32_t Define(const char* name, std::uint32_t length) noexcept;
  bool PassesProbation(const shm::KernelRecord& kernel, const char* name) noexcept;
  bool Refuse() noexcept;
  void SayClockReplaced(const char* consequence) noexcept;

  const CuptiApi* api_ = nullptr;
  SessionFiles* files_ = nullptr;
  RingWriter writer_;
  DefinitionWriter definitions_;
  PendingCaptures pending_;
  LaunchPlaces places_;
  LostCapture* on_lost_ = nullptr;  // set if launches are captured
  void* gate_ = nullptr;            // argument of on_lost_
  GraphNames* graph_names_ = nullptr;
  CuptiClock clock_;
  std::atomic<bool> said_clock_replaced_{false};
  NameIds names_;
  MarkSender marks_;
  NamePointers pointers_;
  NameReader reader_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t longest_ns_ = 0;   // maximum plausible duration of a kernel in the current buffer
  std::uint64_t decoding_ns_ = 0;  // CLOCK_REALTIME when the current buffer arrived
  std::uint32_t probation_ = 0;    // records that must still look right
  // Written by the producer, read by the flusher; relaxed.
  std::atomic<bool> refused_{false};
  // The ring is closed and the reader relies on its counts. Buffers of threads that launch while
  // the process exits arrive too late.
  bool closed_ = false;
};

}  // namespace stemtap::inject
