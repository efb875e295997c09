// SPDX-License-Identifier: Apache-2.0
//
// RowTimes reads the start and end of kernels from a table. It skips and counts rows that lack a
// start or an end, or that end before they start.
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

  // Sets the start and duration of `record`, in ns. Returns false if the row is skipped.
  Result<bool> Read(const TableRows& rows, int start_column, int end_column,
                    shm::KernelRecord& record);

  // Adds one warning per reason. REQUIRES: all rows of `table` have been read.
  void Warn(const std::string& name, std::string_view table, RecordedLaunches& launches) const;

 private:
  struct Tally {
    std::uint64_t count = 0;
    std::uint64_t first_row = 0;

    void Add(std::uint64_t row) {
      if (count++ == 0) first_row = row;
    }
  };

  Tally no_times_;
  Tally ends_early_;
};

}  // namespace stemtap::formats
