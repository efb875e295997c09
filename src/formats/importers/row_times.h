// SPDX-License-Identifier: Apache-2.0
//
// RowTimes checks the start and end of kernels in a table. It counts rows that lack a start or an
// end, or that end before they start. Its Rule decides what becomes of them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/importers/recorded_launches.h"
#include "formats/importers/untrusted_database.h"
#include "shm/record.h"

namespace stemtap::formats {

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

  // Sets the start and duration of `record`, in ns; without usable times, to unknown and 0. Returns
  // false if the row is left out.
  Result<bool> Read(const TableRows& rows, int start_column, int end_column,
                    shm::KernelRecord& record);
  // The same for times, or kNone, that the caller has read from row or line `row`.
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

}  // namespace stemtap::formats
