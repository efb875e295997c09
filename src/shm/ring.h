// SPDX-License-Identifier: Apache-2.0
//
// RingFile is the layout of a ring (session_env.h has its name) in a session directory: a queue of
// records from one traced process to the collector, and the counters of the process. The traced
// process creates the file under a temporary name, renames it when it is complete, maps it and is
// the only producer. The collector maps it and is the only consumer. Because the ring is a file,
// pushed records survive a SIGKILL of the process. See docs/formats/ring.md.
//
// The definitions of names follow the RingFile. They are only appended, so that they survive both
// processes, whatever the collector has read.
//
// THREADS: the queue is single-producer single-consumer (Boost.Lockfree). In the traced process,
// the CUPTI worker and the flusher push under a lock of the injector. Application threads never
// push.
//
// Used by the injected library: needs libc only.
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
inline constexpr std::uint32_t kRingVersion = 7;  // includes the numbering of the losses

// 262,144 records of 64 bytes take 16 MiB. At 1 million launches per second, more than one GPU can
// start, the collector can sleep for 260 ms before a record is dropped. If smaller, records are
// dropped when the collector shares two cores with the application; if larger, it costs page cache.
inline constexpr std::size_t kRingCapacity = std::size_t{1} << 18;

// The definitions, as records of the kinds kName, kNameBytes and kRange. The file begins with room
// for some thousand names, so that programs that can no longer open files define their kernels, and
// has 17 MiB then. It grows in steps of 1 MiB. The maximum of 64 MiB holds 65,536 names of almost 1
// KiB each; with 16 KiB per name, one damaged ring could make the collector store 1 GiB.
inline constexpr std::uint32_t kFirstDefinitions = 16256;
inline constexpr std::uint32_t kMaxDefinitions = 1u << 20;

using RecordQueue = boost::lockfree::spsc_queue<Record, boost::lockfree::capacity<kRingCapacity>>;

enum class RingState : std::uint32_t {
  kRecording = 1,  // records may arrive
  kDisabled = 2,   // recording is disabled; `reason` contains the reason
  kClosed = 3,     // the process shut down cleanly; all of its records are in the ring
};

// What is recorded in a process, as the collector or the program requests it.
enum class Recording : std::uint32_t {
  kOn = 0,
  kCounting = 1,  // launches are recorded, so that they can be counted, and none is captured
  kOff = 2,       // CUPTI's records and callbacks are disabled
  kStarted = 3,   // on, because the program called stemtap_start
};
inline constexpr std::uint32_t kRecordings = 4;
// The states that the collector requests, in files and messages.
inline constexpr const char* kRecordingNames[] = {"on", "counting", "off"};
constexpr const char* NameOf(Recording recording) noexcept {
  return kRecordingNames[recording == Recording::kStarted ? 0
                                                          : static_cast<std::size_t>(recording)];
}

// The header keeps the times of this many switches of the recording. The collector reads them
// several times a second, and a process switches once per flush period at most.
inline constexpr std::size_t kSwitchTimes = 64;

// Returns the pid namespace of this process: N of "pid:[N]". Containers usually have their own
// namespace, so equal pids can be different processes. Returns 0 if unknown, as without /proc.
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
  std::uint64_t file_bytes = 0;  // sizeof(RingFile) in the writer; definitions follow
  std::int32_t pid = 0;
  std::uint32_t cupti_version = 0;   // cuptiGetVersion(), or 0 if unknown
  std::uint32_t driver_version = 0;  // cuDriverGetVersion(), or 0 if unknown
  std::uint32_t pid_namespace = 0;   // of `pid`, see PidNamespace(); 0 if unknown
  // Records of complete definitions. Written by the producer (release) before it pushes a record
  // that refers to them; pairs with the acquire load in the collector.
  std::atomic<std::uint32_t> definitions{0};
  char program[64] = {};  // /proc/self/comm, 0-terminated

  // Written by the traced process, read by the collector. The release store of `state` publishes,
  // with kDisabled, `reason_bytes` and, with kClosed, all counters. Pairs with the acquire load in
  // the collector.
  std::atomic<std::uint32_t> state{0};
  char reason[512] = {};  // 0-terminated; text is only appended, so text already read stays valid
  // Bytes of `reason` that are complete. The release store publishes them; pairs with the acquire
  // load in the collector.
  std::atomic<std::uint32_t> reason_bytes{0};

  // Counters, written by the traced process with relaxed adds, read by the collector with relaxed
  // loads. They are independent and do not publish other data. They are exact once `state` is
  // kClosed or the process has ended.
  std::atomic<std::uint64_t> seen{0};     // kernel records found in CUPTI buffers
  std::atomic<std::uint64_t> kept{0};     // kernel records pushed
  std::atomic<std::uint64_t> skipped{0};  // activity records of other kinds
  // Launches that the gate evaluated. Launches that became nodes of a graph and graph launches are
  // not among them.
  std::atomic<std::uint64_t> launches_gated{0};
  std::atomic<std::uint64_t> launches_captured{0};
  std::atomic<std::uint64_t> launches_failed{0};  // of launches_gated: the call returned an error
  std::atomic<std::uint64_t> launches_added{0};   // became nodes of a graph
  std::atomic<std::uint64_t> graph_records{0};    // kernel records of graph launches
  std::atomic<std::uint64_t> paused{0};   // kernel records of pauses (stemtap_stop); not in seen
  std::atomic<std::uint64_t> buffers{0};  // activity buffers returned by CUPTI
  // CLOCK_MONOTONIC of the last FlushAll. A release store: its records are in the ring.
  std::atomic<std::uint64_t> last_flush_ns{0};
  // Recording time so far, as far as it can be measured inside the process.
  std::atomic<std::uint64_t> cost_program_ns{0};     // our code on application threads
  std::atomic<std::uint64_t> cost_background_ns{0};  // our code, with its CUPTI calls, elsewhere
  std::atomic<std::uint64_t> cost_cupti_ns{0};       // reported by CUPTI; only with --max-overhead
  std::atomic<std::uint64_t> losses[kLossCount] = {};

  // A value of Recording. Written by the collector, and by the program when it calls stemtap_start;
  // the last one counts. Relaxed: it publishes no other data.
  std::atomic<std::uint32_t> requested{0};
  // How often the process has switched its recording off or on: it is off if the number is odd.
  // The release store publishes the times; pairs with the acquire load in the collector.
  std::atomic<std::uint64_t> switches{0};
  // CLOCK_REALTIME in ns of switch i, in [i % kSwitchTimes]. Of launches between two switches
  // nothing is known. Relaxed.
  std::atomic<std::uint64_t> switch_times_ns[kSwitchTimes] = {};
};

struct RingFile {
  RingHeader header;
  alignas(4096) RecordQueue queue;
};

// Returns the size of a file with room for `definitions` records of definitions.
constexpr std::size_t RingFileBytes(std::uint32_t definitions) {
  return sizeof(RingFile) + std::size_t{definitions} * kRecordBytes;
}
static_assert(RingFileBytes(kFirstDefinitions) == std::size_t{17} << 20);

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::size_t>::is_always_lock_free);
static_assert(sizeof(RingHeader) <= 4096);

}  // namespace stemtap::shm
