// SPDX-License-Identifier: Apache-2.0
//
// What the ids and the streams of recorded launches show about their order and their times.
// LaunchIds decides whether the ids give the launch order and which starts are wrong, and
// CutOverruns, which durations are too long. docs/design/launch-order.md explains the rules and
// their limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "shm/record.h"

namespace stemtap::formats {

// LaunchIds compares the correlation ids of recorded launches with their starts and decides, for
// each process, whether the ids give the launch order.
//
// A stream runs its launches one by one, so along a stream, ids in order of start never decrease.
// Where they do, either a start or an id is wrong. The launches outside a longest sequence that
// never decreases are the fewest that explain it. A start that is far from most starts is compared
// with all ids of the process instead. If the contradictions are few, these starts are wrong;
// otherwise the ids of the process are not launch order, for example because several programs used
// the same ids.
//
// COMPLEXITY: O(n) if no ids contradict a stream, else O(n log n) and at most 56 bytes per launch.
class LaunchIds {
 public:
  // `processes` has the process of each launch, from 0, or is empty if there is one. REQUIRES:
  // `records` are in order of start; a launch without a start may be anywhere.
  LaunchIds(std::span<const shm::KernelRecord> records, std::span<const std::uint32_t> processes);

  bool any() const { return any_; }          // a launch has an id
  bool sorted() const { return sorted_; }    // order of start is order of ids in each process
  bool doubted() const { return doubted_; }  // ids of a process are not its launch order

  // Position in the launch order of its process, by launch: a launch without an id has the number
  // of the launch before it, and all launches of a doubted process have 0.
  const std::vector<std::uint64_t>& numbers() const { return numbers_; }

  // Whether a launch has an id that is not its place in the launch order.
  bool Doubts(std::size_t i) const { return numbers_[i] == 0 && records_[i].correlation_id != 0; }

  // Launches, in order of index, whose start is wrong according to their ids.
  const std::vector<std::size_t>& misplaced() const { return misplaced_; }
  // Whether the start of a launch is far from the starts of most launches.
  bool IsFar(const shm::KernelRecord& record) const;

 private:
  // What the launches of a process say about its ids.
  struct Evidence {
    std::uint64_t launches = 0;  // with an id and a start
    std::uint64_t near = 0;      // misplaced launches whose start is not far
    std::uint64_t far = 0;       // misplaced launches whose start is far
    std::uint64_t reused = 0;    // launches with a lower id than an earlier one, and a shared id
    // Numbers of the launches whose start is not far.
    std::uint64_t lowest = ~std::uint64_t{0};
    std::uint64_t highest = 0;

    bool Trusted() const;
  };

  std::size_t ProcessOf(std::size_t i) const { return processes_.empty() ? 0 : processes_[i]; }
  void Number();
  bool AnyBelowEarlierOne() const;
  void Compare();
  std::vector<std::size_t> ByStream() const;
  void CompareStream(std::span<const std::size_t> stream, std::span<const std::size_t> shared);
  std::vector<std::size_t> WithSharedIds() const;
  void FindFar();
  bool AnyFar() const;
  void CompareFar();
  void CompareNear();

  std::span<const shm::KernelRecord> records_;
  std::span<const std::uint32_t> processes_;
  std::map<std::size_t, Evidence> evidence_;  // by process, only while ids are compared
  std::vector<std::uint64_t> numbers_;
  std::vector<std::size_t> misplaced_;
  std::uint64_t near_first_ns_ = 0;  // starts outside of these two are far
  std::uint64_t near_last_ns_ = shm::kUnknownTime;
  bool any_ = false;
  bool sorted_ = true;
  bool doubted_ = false;
};

// Returns the positions that are outside of a longest subsequence of `numbers` that never
// decreases, in ascending order.
std::vector<std::size_t> OutsideLongestRise(std::span<const std::uint64_t> numbers);

// Overruns is what CutOverruns cut and kept.
struct Overruns {
  std::uint64_t cut = 0;     // launches
  std::uint64_t cut_ns = 0;  // duration that was removed, at most 2^64 - 1
  std::size_t first_cut = 0;
  // Launches that overrun but were left as they are because their stream number covers several
  // streams, and the duration beyond the start of the next launch.
  std::uint64_t kept = 0;
  std::uint64_t kept_ns = 0;
};

// CutOverruns corrects durations that are too long to be true. A stream runs its launches one by
// one. Two launches may overlap (programmatic dependent launch, rounded times), but the later one
// ends last. If a launch ends long after the next launch of its stream ended, and after the launch
// after that one started, its end is wrong: it is set to the start of the next launch.
// docs/design/launch-order.md explains the rule and its limits.
//
// Launches whose start or id is wrong are not compared. `processes` has the process of each launch,
// or is empty if there is one. `are_streams`: stream numbers identify streams; otherwise nothing is
// cut. REQUIRES: `records` are in order of start; a launch without a start may be
// anywhere; `ids` were read from `records`.
Overruns CutOverruns(std::span<shm::KernelRecord> records, std::span<const std::uint32_t> processes,
                     const LaunchIds& ids, bool are_streams);

}  // namespace stemtap::formats
