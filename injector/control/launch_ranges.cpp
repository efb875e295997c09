// SPDX-License-Identifier: Apache-2.0
#include "control/launch_ranges.h"

#include <string.h>

#include "recording/name_hash.h"

namespace stemtap::inject {
namespace {

// Returns the number of commas before `at`.
std::uint32_t NumberOf(const char* names, const char* at) noexcept {
  std::uint32_t number = 0;
  for (const char* c = names; c != at; ++c) number += *c == ',';
  return number;
}

}  // namespace

void LaunchRanges::Set(bool by_range, const char* only_range, shm::StepWindow steps) noexcept {
  by_range_ = by_range;
  steps_ = steps;
  names_bytes_ = 0;
  if (only_range != nullptr) {
    const std::size_t bytes = ::strnlen(only_range, sizeof(names_));
    if (bytes < sizeof(names_) && NumberOf(only_range, only_range + bytes) < kMaxNames) {
      ::memcpy(names_, only_range, bytes);
      names_bytes_ = static_cast<std::uint32_t>(bytes);
    }
  }
  has_ranges_ = by_range_ || names_bytes_ != 0;
  on_ = has_ranges_ || !steps_.all();
}

LaunchRanges::Launch LaunchRanges::Learn(const RangePaths& paths, std::uint32_t path) noexcept {
  char text[shm::kMaxRangeBytes];
  shm::Text range = {text, paths.Write(path, text)};
  // The thread that added the path was interrupted. The next launch in it has a range.
  if (range.bytes == 0) return {0, shm::kNoRange, names_bytes_ != 0};
  std::uint32_t id = path;
  if (names_bytes_ != 0) {
    const shm::Text name = shm::InnermostOf(range, {names_, names_bytes_});
    if (name.bytes == 0) {
      id = kOutside;
    } else if (!by_range_) {
      range = name;
      id = kFirstName + NumberOf(names_, name.at);
    }
  }
  const std::uint64_t hash = HashName(range.at, range.bytes);
  ranges_[path].store(static_cast<std::uint16_t>(id), std::memory_order_relaxed);
  // Release: publishes the range; pairs with the acquire in Of. All threads store the same values.
  hashes_[path].store(hash, std::memory_order_release);
  return id == kOutside ? Launch{0, shm::kNoRange, true}
                        : Launch{hash, static_cast<std::uint16_t>(id), false};
}

std::uint32_t LaunchRanges::Write(const RangePaths& paths, std::uint32_t range,
                                  char (&text)[shm::kMaxRangeBytes]) const noexcept {
  if (range < kFirstName) return paths.Write(range, text);
  std::uint32_t begin = 0;
  for (range -= kFirstName; range != 0; ++begin) range -= names_[begin] == ',';
  std::uint32_t length = 0;
  for (; begin + length < names_bytes_ && names_[begin + length] != ','; ++length) {
    text[length] = names_[begin + length];
  }
  return length;
}

}  // namespace stemtap::inject
