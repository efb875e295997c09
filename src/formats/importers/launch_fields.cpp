// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/launch_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/decimal.h"
#include "base/text.h"

namespace stemtap::formats {

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

std::uint32_t StreamNumbers::Of(std::string_view id) {
  const std::optional<std::uint64_t> number = WholeNumber(id);
  if (number && *number < static_cast<std::uint64_t>(kFirstProvisional)) {
    return static_cast<std::uint32_t>(*number);
  }
  return Provisional(id);
}

std::uint32_t StreamNumbers::Provisional(std::string_view id) {
  if (provisional_.empty()) {
    first_ = id;
  } else if (id == last_) {
    return last_number_;
  }
  // 2^31 different ids do not fit in memory; if they did, the last ones would share a number.
  const auto next = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kFirstProvisional + provisional_.size(), shm::kUnknown32 - 1));
  last_ = id;
  last_number_ = provisional_.try_emplace(last_, next).first->second;
  return last_number_;
}

void StreamNumbers::Finish(std::string_view source, RecordedLaunches& launches) const {
  if (provisional_.empty()) return;
  const std::size_t streams = launches.NumberStreams();
  if (streams == 0) return;
  launches.Warn(
      fmt::format("{}: stream ids such as '{}' are not small whole numbers; streams are numbered 0 "
                  "to {} in order of appearance",
                  source, ShownCell(first_), streams - 1));
}

}  // namespace stemtap::formats
