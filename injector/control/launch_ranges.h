// SPDX-License-Identifier: Apache-2.0
//
// LaunchRanges decides which range a launch counts to, and whether the user selected it
// (shm/launch_selection.h). What a path of ranges means is found once and stored, so a launch costs
// two loads.
//
// THREADS: Set once, before the others; those any, lock-free.
#pragma once

#include <atomic>
#include <cstdint>

#include "control/range_paths.h"
#include "shm/launch_selection.h"
#include "shm/record.h"

namespace stemtap::inject {

class LaunchRanges {
 public:
  // Maximum names in --only-range, and their length with the commas.
  static constexpr std::uint32_t kMaxNames = shm::kMaxOnlyRanges;
  // Ids of the ranges that launches count to: an id of RangePaths, or this and the number of a name
  // in --only-range.
  static constexpr std::uint32_t kFirstName = RangePaths::kOther + 1;
  static constexpr std::uint32_t kIds = kFirstName + kMaxNames;

  struct Launch {
    std::uint64_t hash;   // NameHash of the range, or 0
    std::uint16_t range;  // shm::kNoRange: of no range
    bool is_outside;      // not selected
  };

  // `only_range`: nullptr selects all ranges.
  void Set(bool by_range, const char* only_range, shm::StepWindow steps) noexcept;

  // Whether launches are grouped or selected.
  bool on() const noexcept { return on_; }
  // Whether a launch that nothing is known of is outside.
  bool selects() const noexcept { return names_bytes_ != 0 || !steps_.all(); }

  // `mark`: of the launch, with an id of `paths`.
  Launch Of(const RangePaths& paths, const shm::LaunchMark& mark) noexcept {
    if (!steps_.Contains(mark.step)) return {0, shm::kNoRange, true};
    if (!has_ranges_) return {0, shm::kNoRange, false};
    if (mark.range_id == shm::kNoRange) return {0, shm::kNoRange, names_bytes_ != 0};
    // Acquire: pairs with the release in Learn, so that the range belongs to the hash.
    const std::uint64_t hash = hashes_[mark.range_id].load(std::memory_order_acquire);
    if (hash == 0) return Learn(paths, mark.range_id);
    const std::uint16_t range = ranges_[mark.range_id].load(std::memory_order_relaxed);
    return range == kOutside ? Launch{0, shm::kNoRange, true} : Launch{hash, range, false};
  }

  // Writes the text of a range, without a terminating 0, and returns its length, as
  // RangePaths::Write.
  std::uint32_t Write(const RangePaths& paths, std::uint32_t range,
                      char (&text)[shm::kMaxRangeBytes]) const noexcept;

 private:
  static constexpr std::uint16_t kOutside = 0xFFFF;

  Launch Learn(const RangePaths& paths, std::uint32_t path) noexcept;

  bool on_ = false;
  bool has_ranges_ = false;
  bool by_range_ = false;
  shm::StepWindow steps_;
  char names_[shm::kMaxRangeBytes] = {};
  std::uint32_t names_bytes_ = 0;  // 0: all ranges are selected
  // By id of RangePaths; a hash of 0: not found yet.
  std::atomic<std::uint64_t> hashes_[kFirstName] = {};
  std::atomic<std::uint16_t> ranges_[kFirstName] = {};
};

}  // namespace stemtap::inject
