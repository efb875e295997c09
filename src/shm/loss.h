// SPDX-License-Identifier: Apache-2.0
//
// Loss counts everything that a traced process did not deliver, by reason. The identity that every
// summary shows: records seen = records kept + the sum of the record losses.
//
// Used by the injected library: needs libc alone.
#pragma once

#include <cstdint>

namespace stemtap::shm {

enum class Loss : std::uint32_t {
  // Kernel records that were seen in a CUPTI buffer but not kept.
  kRingFull,       // the collector did not keep up
  kNoTimestamps,   // start == end == 0: CUPTI's device buffers were exhausted
  kBadTimestamps,  // end < start: the clock was stepped; or the clock counts no nanoseconds
  kIncomplete,     // still running at the forced flush of the exit (end == 0)
  kTooManyNames,   // the name table is full
  kNameGone,       // its module was unloaded, and its name with it, before it was seen
  // Not seen at all, as far as CUPTI knows.
  kCuptiDropped,  // cuptiActivityGetNumDroppedRecords
  // Gaps: how many records were lost is not known.
  kPoolExhausted,   // buffers of unknown content: the pool had none left, a discard buffer was lent
  kForeignBuffers,  // buffers that went astray: ours to another CUPTI client, or another's to us
  kUnreadBuffers,   // buffers for which CUPTI gave an error instead of their records
  kGaps,            // times during which another profiler had CUPTI: their launches are unknown
  // Not records.
  kNamesCut,  // names longer than kMaxNameBytes, kept cut
  // The gate said capture, and the launch went by; its credit was kept.
  kCapturesDenied,     // the table of pending captures was full, another thread's launch was being
                       // captured, a graph was, or the actuator refused
  kCapturesThrottled,  // more than --max-captures-per-second
  kGraphLaunches,      // graph launches passed by the gate: their kernels are timed, not gated
  kCount
};

inline constexpr std::uint32_t kLossCount = static_cast<std::uint32_t>(Loss::kCount);
// Losses below this are kernel records, one each.
inline constexpr std::uint32_t kRecordLossCount = static_cast<std::uint32_t>(Loss::kPoolExhausted);
// Those from there on and below this are gaps.
inline constexpr std::uint32_t kGapLossEnd = static_cast<std::uint32_t>(Loss::kNamesCut);

// As they appear in session.json and in the summary.
inline constexpr const char* kLossNames[kLossCount] = {
    "ring_full", "no_timestamps", "bad_timestamps",  "incomplete",         "too_many_names",
    "name_gone", "cupti_dropped", "pool_exhausted",  "foreign_buffers",    "unread_buffers",
    "gaps",      "names_cut",     "captures_denied", "captures_throttled", "graph_launches"};

}  // namespace stemtap::shm
