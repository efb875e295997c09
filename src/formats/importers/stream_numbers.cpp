// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/stream_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/decimal.h"
#include "base/text.h"

namespace stemtap::formats {

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
