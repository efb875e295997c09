// SPDX-License-Identifier: Apache-2.0
//
// RecordedSession is the content of session.json: what a session recorded and lost, by process and
// device. See docs/formats/session.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "shm/loss.h"
#include "shm/record.h"

namespace stemtap::model {

enum class ProcessState : std::uint8_t {
  kRecording,  // still runs, or did not shut down cleanly
  kDisabled,   // recording is disabled
  kClosed,     // shut down cleanly
};
// Names in session.json and overview.json, and in files that were written before 0.1.0.
inline constexpr const char* kProcessStateNames[] = {"recording", "disabled", "closed"};
inline constexpr const char* kFormerStateNames[] = {"recording", "stood_down", "closed"};
constexpr const char* NameOf(ProcessState state) {
  return kProcessStateNames[static_cast<std::size_t>(state)];
}

// In a session that is not merged, processes and devices have no session number.
inline constexpr std::uint64_t kNoSession = ~std::uint64_t{0};

inline constexpr std::uint64_t kNoTime = ~std::uint64_t{0};

// A session lists at most this many processes and devices of processes; the others share one entry.
// The tables of 16,384 devices take 60 MB of the collector's memory, and the list of processes
// takes 15 to 21 MB of session.json, or 80 MB if each process reports the longest possible text.
// More processes than this are hardly read one by one.
inline constexpr std::size_t kMaxListedProcesses = std::size_t{1} << 14;

// ProcessReport is the state of one traced process, as read from its ring, or the sums of several.
struct ProcessReport {
  std::int32_t pid = 0;
  std::string program;
  ProcessState state = ProcessState::kRecording;
  std::string reason;  // why recording is disabled, or remarks of the process
  std::uint32_t cupti_version = 0;
  std::uint32_t driver_version = 0;
  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t skipped = 0;
  std::uint64_t read = 0;  // records that the collector took from the ring
  std::uint64_t late = 0;  // read records outside the window in which launch order is restored
  std::uint64_t malformed = 0;
  std::uint64_t launches_gated = 0;
  std::uint64_t launches_captured = 0;
  std::uint64_t launches_failed = 0;  // of launches_gated: the call returned an error
  std::uint64_t launches_added = 0;   // became nodes of a graph; not in launches_gated
  std::uint64_t graph_records = 0;    // kernel records of graph launches
  std::uint64_t paused =
      0;  // records of kernels that started while the program had paused recording
  std::uint64_t buffers = 0;
  // Recording overhead, see shm/ring.h.
  std::uint64_t cost_program_ns = 0;
  std::uint64_t cost_background_ns = 0;
  std::uint64_t cost_cupti_ns = 0;
  std::uint64_t losses[shm::kLossCount] = {};
  std::uint64_t session = kNoSession;
  // Number of processes that this entry sums; 0: it is one process.
  std::uint64_t combined = 0;
  // Ended before the present window. Not in files.
  bool is_past = false;

  // Returns the number of kernel records known to be lost.
  std::uint64_t dropped() const {
    std::uint64_t sum = malformed;
    for (std::uint32_t i = 0; i < shm::kRecordLossCount; ++i) sum += losses[i];
    return sum;
  }
  // Returns the number of losses of unknown size.
  std::uint64_t gaps() const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = shm::kRecordLossCount; i < shm::kGapLossEnd; ++i) sum += losses[i];
    return sum;
  }
};

// IdleBin counts the gaps between kernels that last at least lower_ns and less than the next edge.
struct IdleBin {
  std::uint64_t lower_ns = 0;  // one of kIdleEdges
  std::uint64_t gaps = 0;
  std::uint64_t idle_ns = 0;
};
// Factors of ten are enough to distinguish launch overhead (microseconds) from waits for the host
// (milliseconds and more).
inline constexpr std::uint64_t kIdleEdges[] = {0,         1'000,      10'000,      100'000,
                                               1'000'000, 10'000'000, 100'000'000, 1'000'000'000};
inline constexpr std::size_t kIdleBins = std::size(kIdleEdges);

struct IdleGap {
  std::uint64_t start_ns = 0;  // on the recorder's clock
  std::uint64_t duration_ns = 0;
  std::string before;  // name of the kernel that ended at the start; empty if unknown
  std::string after;   // of the kernel that began at the end
};
inline constexpr std::size_t kMaxIdleGaps = 8;  // per device; more would not be read

struct StreamTotals {
  std::uint32_t stream = 0;  // shm::kUnknown32 if unknown
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
};

struct DeviceTotals {
  std::uint16_t process = 0;  // index of the process in a session that still runs; not in files
  std::int32_t pid = 0;       // 0 if unknown
  std::uint16_t device = 0;   // ordinal inside the process, or shm::kUnknown16 if unknown
  std::uint64_t launches = 0;
  std::uint64_t graph_kernels = 0;      // launches made by CUDA graphs
  std::uint64_t graph_duration_ns = 0;  // of these launches
  std::uint64_t duration_ns = 0;
  std::uint64_t busy_ns = 0;
  std::uint64_t cut_ns = 0;           // busy_ns is too small by at most this
  std::uint64_t span_ns = 0;          // from the first start to the last end
  std::uint64_t start_ns = kNoTime;   // first start, on the recorder's clock
  std::vector<IdleBin> idle;          // ascending, without empty bins
  std::vector<IdleGap> longest_gaps;  // descending, at most kMaxIdleGaps
  std::vector<StreamTotals> streams;  // ascending; those beyond the maximum share one unknown entry
  std::uint64_t session = kNoSession;
};

// SessionCounts are the totals over all processes of a session.
struct SessionCounts {
  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  std::uint64_t gaps = 0;
  std::uint64_t paused = 0;  // not part of seen
  std::uint64_t losses[shm::kLossCount] = {};
};

// SessionCounters are all counters of a session.
struct SessionCounters : SessionCounts {
  std::uint64_t captured = 0;
  std::uint64_t captured_duration_ns = 0;
  std::uint64_t zero_duration = 0;
  std::uint64_t slowed = 0;
  std::uint64_t slowed_beside = 0;
  std::uint64_t native_unknown = 0;
  std::uint64_t contexts_refused = 0;
  std::uint64_t slots_refused = 0;
  std::uint64_t mask_events_missing = 0;
};

struct SessionHost {
  std::string name;
  std::string system;
  std::string machine;
  std::uint32_t cores = 0;  // 0 if unknown
};

// SessionRun is what a merged session keeps of each original session.
struct SessionRun {
  std::string tool;
  std::string mode;
  std::vector<std::string> command;
  OptionList options;
  SessionHost host;
  double elapsed_s = 0.0;  // NaN if unknown
  int exit_code = 0;
  int signal = 0;  // signal that ended the program, or 0
  SessionCounters counters;
};

struct OriginalSession : SessionRun {
  std::string id;  // as in PlanSession
  std::string folder;
};

// UnobservedInterval is a time in which launches were not observed: recording was off in a process,
// or the session only counted launches.
struct UnobservedInterval {
  static constexpr std::uint64_t kUncounted = ~std::uint64_t{0};

  std::int32_t pid = 0;            // 0: all processes
  std::uint64_t begin_ns = 0;      // on the recorder's clock
  std::uint64_t end_ns = kNoTime;  // kNoTime: until the end of the session
  std::uint64_t launches = kUncounted;
};
// A session lists at most this many; plan.json has their number. More are hardly read one by one.
inline constexpr std::size_t kMaxUnobservedIntervals = 4096;

struct RecordedSession : SessionRun {
  // Made while the session went on: recording processes still ran, and records were on their way.
  bool is_snapshot = false;
  // Its collector was killed: the results are of its last checkpoint.
  bool is_recovered = false;
  std::uint32_t window = 0;  // number of the window, from 1; 0: the whole run
  std::string completeness;  // launches compared with records, in words; empty if unknown
  std::vector<ProcessReport> processes;
  std::vector<DeviceTotals> devices;
  std::vector<UnobservedInterval> unobserved;  // by begin
  std::vector<std::string> warnings;
  std::vector<OriginalSession> sessions;  // empty if the session is not merged
};

// Room for the largest session.json of one session (kMaxListedProcesses), and for two hundred
// thousand processes of merged sessions.
inline constexpr std::size_t kMaxSessionBytes = std::size_t{256} << 20;

// Returns the content of session.json, which ends in a newline.
std::string SessionToJson(const RecordedSession& session);

// Parses the session.json in `text`. Unknown fields, which later versions may add, are ignored.
// `source` is the name of the text in error messages: "run/session.json: counters.gaps: ...".
Result<RecordedSession> ParseSession(std::string_view text, std::string_view source);

// Like ParseSession, but reads a file, which may be compressed with gzip or zstd.
Result<RecordedSession> LoadSession(const std::string& path);

// Compares the counters of a session with the totals of its plan. Returns the first difference, or
// an empty string.
std::string CompareWithPlan(const RecordedSession& session, const PlanTotals& totals);

}  // namespace stemtap::model
