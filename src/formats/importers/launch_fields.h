// SPDX-License-Identifier: Apache-2.0
//
// Fields of launches that the importers of several formats fill in the same way: RowTimes checks
// start and end, StreamNumbers numbers streams, and the functions for rocprof convert how all of
// AMD's profilers describe a launch.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/importers/recorded_launches.h"
#include "shm/record.h"

namespace stemtap::formats {

// RowTimes checks the start and end of kernels in a table. It counts rows that lack a start or an
// end, or that end before they start. Its Rule decides what becomes of them.
class RowTimes {
 public:
  // A value that no cell can contain.
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  enum class Rule : std::uint8_t {
    // CUPTI: both times are 0 if they could not be collected. The launch happened, so it counts
    // with 0 ns, in the place that its id gives (recorded_launches.h).
    kKeep,
    // rocprof: 0 is not a time. Rows without times are left out.
    kLeaveOut,
  };

  explicit RowTimes(Rule rule = Rule::kKeep) : rule_(rule) {}

  // Sets the start and duration of `record`, in ns, to the times, or kNone, of row or line `row`;
  // without usable times, to unknown and 0. Returns false if the row is left out.
  bool Set(std::int64_t start, std::int64_t end, std::uint64_t row, shm::KernelRecord& record);

  // Adds one warning per reason. REQUIRES: all rows of `table` have been read.
  void Warn(const std::string& name, std::string_view table, RecordedLaunches& launches) const;
  // The same for a text file, in which a row is a line.
  void WarnOfLines(const std::string& name, RecordedLaunches& launches) const;

 private:
  std::string_view Treatment() const;

  Rule rule_;
  Tally no_times_;
  Tally ends_early_;
};

// StreamNumbers turns the ids of streams or queues in a file into the stream numbers of launches.
// An id below 2^31 is its own number. If a file has any other id (an address, a negative number, a
// hexadecimal number, a name), all of its streams are numbered 0, 1, ... in order of appearance.
// Every stream gets a number, and no two streams share one.
class StreamNumbers {
 public:
  // Returns the number for a launch on stream `id`. It is final after Finish.
  std::uint32_t Of(std::string_view id);
  std::uint32_t Of(std::int64_t id) {
    return id >= 0 && id < kFirstProvisional ? static_cast<std::uint32_t>(id)
                                             : Provisional(std::to_string(id));
  }

  // Renumbers the streams of `launches`, with a warning, if an id is not its own number. REQUIRES:
  // the streams of `launches` are numbers from Of, or below 2^31; `launches` is not finished.
  void Finish(std::string_view source, RecordedLaunches& launches) const;

 private:
  // Numbers from here on stand for other ids until Finish. Ids above it that would fit a stream
  // number are treated like addresses.
  static constexpr std::int64_t kFirstProvisional = std::int64_t{1} << 31;

  std::uint32_t Provisional(std::string_view id);

  std::unordered_map<std::string, std::uint32_t> provisional_;  // by id
  std::string first_;                                           // of these ids
  std::string last_;                                            // id of the last call, and its
  std::uint32_t last_number_ = 0;                               // number: streams repeat
};

// How AMD's profilers describe a launch in all of their file formats. The rules that these
// functions implement are in docs/formats/rocprofv3-csv.md.

// Times count from the boot of the machine; a kernel that was not timed has 0.
inline constexpr RowTimes::Rule kRocprofTimes = RowTimes::Rule::kLeaveOut;

// Returns the name without what names of kernel descriptors have in addition.
constexpr std::string_view RocprofKernelName(std::string_view symbol) {
  constexpr std::array<std::string_view, 3> kSuffixes = {" [clone .kd]", " (.kd)", ".kd"};
  for (const std::string_view suffix : kSuffixes) {
    if (symbol.size() > suffix.size() && symbol.ends_with(suffix)) {
      symbol.remove_suffix(suffix.size());
      break;
    }
  }
  return symbol;
}

// Returns the number of work-groups of `group` work-items that the hardware dispatches for `items`
// work-items; the last one may be partly filled. REQUIRES: both are positive.
constexpr std::uint64_t WorkGroups(std::uint64_t items, std::uint64_t group) {
  return (items - 1) / group + 1;
}

// Returns the number by which launches of a process are ordered. Some versions count dispatches
// from 0, which would mean that the order is unknown.
constexpr std::uint32_t kRocprofIdOffset = 1;
constexpr std::uint32_t RocprofLaunchNumber(std::uint64_t dispatch) {
  return static_cast<std::uint32_t>(dispatch + kRocprofIdOffset);
}
inline constexpr const char* kRocprofIdName = "dispatch id";

}  // namespace stemtap::formats
