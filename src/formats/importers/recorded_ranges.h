// SPDX-License-Identifier: Apache-2.0
//
// RecordedRanges finds the ranges and steps in which launches were made, for formats that record
// the ranges of the program and its launch calls apart from the kernels.
//
// A launch is in the ranges of its thread that are open when the launch call begins; its path is
// their names from the outermost to the innermost, joined by '/'. Outside of them, it is in the
// range of its process that was started last and is still open. Names and limits are as in the
// injected library (injector/control/range_paths.h), but paths are limited per file, and only paths
// with launches count.
//
// MEMORY: 32 bytes per call and per range. Ranges may overlap, and all input may be in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "formats/importers/recorded_launches.h"
#include "shm/record.h"

namespace stemtap::formats {

// RecordedCall is a call that launched one or more kernels.
struct RecordedCall {
  static constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

  // Numbers of its process and thread, unique in the file. CallMatch::kProcessAndId: the number of
  // the process in RecordedLaunches.
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
  std::uint32_t correlation_id = 0;
  std::uint32_t range = shm::kNoRange;  // number of its path, from 1
  std::uint32_t step = kNoStep;         // 0-based
  std::int64_t start_ns = 0;
};

// ProgramRange is a range of a thread or a process, its owner.
struct ProgramRange {
  static constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

  std::uint32_t owner = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = kNoEnd;
  std::int64_t id = 0;  // its importer finds the name by it
};

// Returns the part of a range's text that its name contains: at most the limit, and without the
// numbers of a call (shm::StableLength).
std::string_view OwnNameOf(std::string_view text);

// Returns the name that launches show for a range: "domain:text", cut to the limits. An empty
// domain has no prefix.
std::string RangeNameOf(std::string_view domain, std::string_view text);

// How the call of a launch is found.
enum class CallMatch {
  kProcessAndId,  // same process and correlation id
  kId,            // same correlation id: the format has no process of a kernel
};

class RecordedRanges {
 public:
  explicit RecordedRanges(CallMatch match) : match_(match) {}

  // Returns the name of the range with this id.
  using NameOf = std::function<Result<std::string>(std::int64_t id)>;

  void AddCall(const RecordedCall& call) { calls_.push_back(call); }
  bool has_calls() const { return !calls_.empty(); }

  // Sorts the calls. Call once, after the last AddCall.
  void EndCalls();

  // Return whether a call of the thread or process began in the range. REQUIRES: EndCalls.
  bool ThreadCallsIn(const ProgramRange& range) const;
  bool ProcessCallsIn(const ProgramRange& range);

  void AddThreadRange(const ProgramRange& range) { thread_ranges_.push_back(range); }
  void AddProcessRange(const ProgramRange& range) { process_ranges_.push_back(range); }
  void AddStep(const ProgramRange& range) { steps_.push_back(range); }

  // Finds the ranges and steps of all calls, and gives them to their launches. If calls of several
  // threads match a launch, it has none. The steps of a process are numbered from 0 in order of
  // their starts. REQUIRES: EndCalls.
  Status Finish(const NameOf& name_of, RecordedLaunches& launches);

 private:
  Status FindThreadRanges(const NameOf& name_of);
  Status FindProcessRanges(const NameOf& name_of);
  void FindSteps();
  // Returns the places in calls_, in order of process and start. REQUIRES: EndCalls.
  const std::vector<std::uint32_t>& ByProcess();
  Result<std::uint32_t> NumberOf(const std::string* ids, const NameOf& name_of);
  std::uint32_t NumberOf(const std::string& path);
  // Returns the call of a launch, or null. `next`: a place in calls_, which is tried first, and
  // then the place after the call. REQUIRES: calls_ is in order of process and id.
  const RecordedCall* CallOf(std::uint32_t process, std::uint32_t correlation_id,
                             std::size_t& next) const;
  void Mark(RecordedLaunches& launches) const;

  CallMatch match_;
  std::vector<RecordedCall> calls_;
  std::vector<std::uint32_t> by_process_;  // see ByProcess; empty until it is needed
  std::vector<ProgramRange> thread_ranges_;
  std::vector<ProgramRange> process_ranges_;
  std::vector<ProgramRange> steps_;
  std::vector<std::string> paths_;  // by number - 1
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  // Numbers of the latest paths by the bytes of the ids of their ranges, at most kMaxKeptIdBytes.
  std::unordered_map<std::string, std::uint32_t> by_ids_;
  std::size_t id_bytes_ = 0;
};

}  // namespace stemtap::formats
