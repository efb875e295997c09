// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/row_times.h"

#include <fmt/format.h>

#include "base/text.h"

namespace stemtap::formats {
Result<bool> RowTimes::Read(const TableRows& rows, int start_column, int end_column,
                            shm::KernelRecord& record) {
  constexpr std::int64_t kMax = kStartOffset - 1;
  const std::int64_t start = STEMTAP_TRY(rows.Number(start_column, -kMax, kMax, kNone));
  const std::int64_t end = STEMTAP_TRY(rows.Number(end_column, -kMax, kMax, kNone));
  return Set(start, end, rows.row(), record);
}

bool RowTimes::Set(std::int64_t start, std::int64_t end, std::uint64_t row,
                   shm::KernelRecord& record) {
  record.start_ns = shm::kUnknownTime;
  record.duration_ns = 0;
  const bool has_zero = rule_ == Rule::kKeep ? start == 0 && end == 0 : start == 0 || end == 0;
  if (start == kNone || end == kNone || has_zero) {
    no_times_.Add(row);
    return rule_ == Rule::kKeep;
  }
  if (end < start) {
    ends_early_.Add(row);
    return rule_ == Rule::kKeep;
  }
  record.start_ns = WithOffset(start);
  record.duration_ns = static_cast<std::uint64_t>(end - start);
  return true;
}

std::string_view RowTimes::Treatment() const {
  return rule_ == Rule::kKeep ? "counted with 0 ns" : "skipped";
}

void RowTimes::Warn(const std::string& name, std::string_view table,
                    RecordedLaunches& launches) const {
  const auto warn = [&](const Tally& tally, std::string_view what) {
    if (tally.count == 0) return;
    launches.Warn(fmt::format("{}: row {} of {} {} ({}); {}", name, tally.first, table, what,
                              Plural(tally.count, "such row"), Treatment()));
  };
  warn(no_times_, "has no start or no end");
  warn(ends_early_, "ends before it starts");
}

void RowTimes::WarnOfLines(const std::string& name, RecordedLaunches& launches) const {
  const auto warn = [&](const Tally& tally, std::string_view what) {
    launches.WarnOfLine(
        name, tally,
        fmt::format("{} ({}); {}", what, Plural(tally.count, "such row"), Treatment()));
  };
  warn(no_times_, "no start or no end");
  warn(ends_early_, "the end is before the start");
}

}  // namespace stemtap::formats
