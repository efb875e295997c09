// SPDX-License-Identifier: Apache-2.0
//
// RingFile is the layout of `ring.<pid>` in a session folder: one traced process's records on their
// way to the collector, and its counters. The traced process creates the file (under a temporary name,
// renamed when whole), maps it, and is the only producer; the collector maps it and is the only
// consumer. Being a file, it survives the process: whatever was pushed is read after a SIGKILL.
// See docs/formats/ring.md.
//
// THREADS: the queue is single-producer single-consumer (Boost.Lockfree). Inside the traced process
// the CUPTI worker and the flusher take turns under a lock of the injector's; never an application thread.
//
// Used by the injected library: needs libc alone.
#pragma once

#include <unistd.h>

#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstddef>
#include <cstdint>

#include "shm/loss.h"
#include "shm/record.h"

namespace stemtap::shm {

inline constexpr std::uint64_t kRingMagic = 0x31474E5250415453;  // "STAPRNG1"
inline constexpr std::uint32_t kRingVersion = 3;  // of the losses too, which are counted by number

// 262,144 records of 64 bytes are 16 MiB. At 1 million kernels per second, more than one GPU starts,
// the collector may sleep for 260 ms before a record is lost. Smaller loses records when two cores are
// shared with the application; larger only costs page cache.
inline constexpr std::size_t kRingCapacity = std::size_t{1} << 18;

using RecordQueue = boost::lockfree::spsc_queue<Record, boost::lockfree::capacity<kRingCapacity>>;

enum class RingState : std::uint32_t {
  kRecording = 1,  // records may arrive
  kStoodDown = 2,  // nothing will be recorded, `reason` says why
  kClosed = 3,     // the process said goodbye: everything it had is in the ring
};

// The namespace in which this process's id means something: N of "pid:[N]". A container mostly has
// one of its own, and its process 7 is not ours. 0: not known, as without /proc.
inline std::uint32_t PidNamespace() noexcept {
  constexpr ssize_t kPrefix = 5;
  char text[32];
  const ssize_t length = ::readlink("/proc/self/ns/pid", text, sizeof(text));
  std::uint32_t number = 0;
  for (ssize_t i = kPrefix; i < length && text[i] >= '0' && text[i] <= '9'; ++i) {
    number = 10 * number + static_cast<std::uint32_t>(text[i] - '0');
  }
  return number;
}

struct RingHeader {
  std::uint64_t magic = kRingMagic;
  std::uint32_t version = kRingVersion;
  std::uint32_t record_bytes = kRecordBytes;
  std::uint64_t file_bytes = 0;  // sizeof(RingFile) as the writer was built
  std::int32_t pid = 0;
  std::uint32_t cupti_version = 0;   // cuptiGetVersion(); 0: not known
  std::uint32_t driver_version = 0;  // cuDriverGetVersion(); 0: not known
  std::uint32_t pid_namespace = 0;   // of `pid`, see PidNamespace(); 0: not known
  char program[64] = {};             // /proc/self/comm, 0-terminated

  // Written by the traced process, read by the collector. The release store of `state` publishes
  // `reason`, and (kClosed) all counters; matched by the collector's acquire load of `state`.
  std::atomic<std::uint32_t> state{0};
  char reason[512] = {};  // 0-terminated; only ever grows, so what was read stays true

  // Counters, written by the traced process with relaxed adds, read by the collector with relaxed
  // loads: each is a number of its own, nothing is published through them. Exact once kClosed is seen
  // or the process is gone.
  std::atomic<std::uint64_t> seen{0};            // kernel records found in CUPTI buffers
  std::atomic<std::uint64_t> kept{0};            // kernel records pushed
  std::atomic<std::uint64_t> skipped{0};         // activity records of other kinds
  std::atomic<std::uint64_t> launches_gated{0};  // launches that the gate looked at
  std::atomic<std::uint64_t> launches_captured{0};
  std::atomic<std::uint64_t> buffers{0};        // activity buffers received back
  std::atomic<std::uint64_t> last_flush_ns{0};  // CLOCK_MONOTONIC of the last FlushAll
  // What recording has cost so far, as far as it can be told from inside the process.
  std::atomic<std::uint64_t> cost_program_ns{0};     // our code, on threads of the program
  std::atomic<std::uint64_t> cost_background_ns{0};  // our code, and CUPTI's under it, beside them
  std::atomic<std::uint64_t> cost_cupti_ns{
      0};  // what CUPTI says of itself; only with --max-overhead
  std::atomic<std::uint64_t> losses[kLossCount] = {};
};

struct RingFile {
  RingHeader header;
  alignas(4096) RecordQueue queue;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::size_t>::is_always_lock_free);
static_assert(sizeof(RingHeader) <= 4096);

}  // namespace stemtap::shm
