// SPDX-License-Identifier: Apache-2.0
//
// Loss is the reason why a traced process did not deliver a record, buffer or capture. Every
// summary shows the identity: records seen = records kept + sum of the record losses.
//
// Used by the injected library: needs libc only.
#pragma once

#include <cstdint>

namespace stemtap::shm {

enum class Loss : std::uint32_t {
  // Kernel records that were seen in a CUPTI buffer but not kept.
  kRingFull,       // the collector did not keep up
  kNoTimestamps,   // start == end == 0: CUPTI's device buffers were exhausted
  kBadTimestamps,  // end < start because the clock was stepped, or the clock is not in nanoseconds
  kIncomplete,     // still running at the forced flush at exit (end == 0)
  kTooManyNames,   // the name table is full
  kNameGone,       // the module was unloaded before its kernel name was read
  kNameUnwritten,  // the ring file could not grow to hold the kernel's name
  // Records that CUPTI reports as dropped. They are not seen.
  kCuptiDropped,  // cuptiActivityGetNumDroppedRecords
  // Gaps: the number of lost records is unknown.
  kPoolExhausted,   // buffers of unknown content: the pool was empty, a discard buffer was used
  kForeignBuffers,  // buffers exchanged with another CUPTI client, in either direction
  kUnreadBuffers,   // buffers for which CUPTI returned an error instead of records
  kGaps,            // periods in which another profiler used CUPTI, or recording was stopped
  // Not records.
  kNamesCut,  // names longer than kMaxNameBytes, which are kept but truncated
  // Launches that the gate did not capture. Spent credits are refunded.
  kCapturesDenied,     // the table of pending captures was full, a launch of another thread or a
                       // graph was being captured, or the actuator refused
  kCapturesThrottled,  // more than --max-captures-per-second
  kGraphLaunches,      // graph launches, which the gate skips: their kernels are timed, not gated
  // Captured launches whose range is kOtherRangePath because the program has too many ranges, or
  // that have no range because the ring file could not grow. With --ranges and --only-range, also
  // other launches whose range could not be defined, or was not known when their record came.
  kRangesRefused,
  kCount
};

inline constexpr std::uint32_t kLossCount = static_cast<std::uint32_t>(Loss::kCount);
// Each loss below kRecordLossCount is one kernel record.
inline constexpr std::uint32_t kRecordLossCount = static_cast<std::uint32_t>(Loss::kPoolExhausted);
// Losses from kRecordLossCount to kGapLossEnd - 1 are gaps.
inline constexpr std::uint32_t kGapLossEnd = static_cast<std::uint32_t>(Loss::kNamesCut);

// Names in session.json and in the summary.
inline constexpr const char* kLossNames[kLossCount] = {
    "ring_full",      "no_timestamps",  "bad_timestamps", "incomplete",      "too_many_names",
    "name_gone",      "name_unwritten", "cupti_dropped",  "pool_exhausted",  "foreign_buffers",
    "unread_buffers", "gaps",           "names_cut",      "captures_denied", "captures_throttled",
    "graph_launches", "ranges_refused"};

}  // namespace stemtap::shm
