// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/row_times.h"

#include <fmt/format.h>

namespace stemtap::formats {
namespace {

// Starts may precede the origin of the clock (nsys export --ts-shift); this offset preserves their
// order in unsigned numbers. RecordedLaunches subtracts the first start.
constexpr std::int64_t kStartOffset = std::int64_t{1} << 62;

}  // namespace

Result<bool> RowTimes::Read(const TableRows& rows, int start_column, int end_column,
                            shm::KernelRecord& record) {
  constexpr std::int64_t kMax = kStartOffset - 1;
  const std::int64_t start = STEMTAP_TRY(rows.Number(start_column, -kMax, kMax, kNone));
  const std::int64_t end = STEMTAP_TRY(rows.Number(end_column, -kMax, kMax, kNone));
  if (start == kNone || end == kNone || (start == 0 && end == 0)) {
    no_times_.Add(rows.row());
    return false;
  }
  if (end < start) {
    ends_early_.Add(rows.row());
    return false;
  }
  record.start_ns = static_cast<std::uint64_t>(start + kStartOffset);
  record.duration_ns = static_cast<std::uint64_t>(end - start);
  return true;
}

void RowTimes::Warn(const std::string& name, std::string_view table,
                    RecordedLaunches& launches) const {
  if (no_times_.count > 0) {
    launches.Warn(fmt::format("{}: row {} of {} has no start or no end ({} such rows); skipped",
                              name, no_times_.first_row, table, no_times_.count));
  }
  if (ends_early_.count > 0) {
    launches.Warn(fmt::format("{}: row {} of {} ends before it starts ({} such rows); skipped",
                              name, ends_early_.first_row, table, ends_early_.count));
  }
}

}  // namespace stemtap::formats
