// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/row_times.h"

#include <fmt/format.h>

#include "base/text.h"

namespace stemtap::formats {
namespace {

// Starts may precede the origin of the clock (nsys export --ts-shift); this offset preserves their
// order in unsigned numbers. RecordedLaunches subtracts the first start.
constexpr std::int64_t kStartOffset = RowTimes::kMaxTime;

}  // namespace

Result<bool> RowTimes::Read(const TableRows& rows, int start_column, int end_column,
                            shm::KernelRecord& record) {
  constexpr std::int64_t kMax = kMaxTime - 1;
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
  record.start_ns = static_cast<std::uint64_t>(start + kStartOffset);
  record.duration_ns = static_cast<std::uint64_t>(end - start);
  return true;
}

std::string_view RowTimes::Treatment() const {
  return rule_ == Rule::kKeep ? "counted with 0 ns" : "skipped";
}

void RowTimes::Warn(const std::string& name, std::string_view table,
                    RecordedLaunches& launches) const {
  if (no_times_.count > 0) {
    launches.Warn(fmt::format("{}: row {} of {} has no start or no end ({}); {}", name,
                              no_times_.first_row, table, Plural(no_times_.count, "such row"),
                              Treatment()));
  }
  if (ends_early_.count > 0) {
    launches.Warn(fmt::format("{}: row {} of {} ends before it starts ({}); {}", name,
                              ends_early_.first_row, table, Plural(ends_early_.count, "such row"),
                              Treatment()));
  }
}

void RowTimes::WarnOfLines(const std::string& name, RecordedLaunches& launches) const {
  if (no_times_.count > 0) {
    launches.Warn(fmt::format("{}:{}: no start or no end ({}); {}", name, no_times_.first_row,
                              Plural(no_times_.count, "such row"), Treatment()));
  }
  if (ends_early_.count > 0) {
    launches.Warn(fmt::format("{}:{}: the end is before the start ({}); {}", name,
                              ends_early_.first_row, Plural(ends_early_.count, "such row"),
                              Treatment()));
  }
}

}  // namespace stemtap::formats
