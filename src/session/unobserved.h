// SPDX-License-Identifier: Apache-2.0
//
// UnobservedLog lists the times in which launches were not observed: times in which the recording
// of a process was off, and runs of launches that were only counted.
//
// UNITS: ns on the recorder's clock. THREADS: one caller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/session.h"

namespace stemtap::session {

class UnobservedLog {
 public:
  // The recording of `process`, whose id is `pid`, was switched off, or on again. Further intervals
  // than the maximum are not listed.
  void SwitchOff(const void* process, std::int32_t pid, std::uint64_t time_ns) {
    if (intervals_.size() >= model::kMaxUnobservedIntervals) {
      ++unlisted_;
      return;
    }
    off_[process] = intervals_.size();
    intervals_.push_back({pid, time_ns});
  }
  void SwitchOn(const void* process, std::uint64_t time_ns) {
    const auto off = off_.find(process);
    if (off == off_.end()) return;
    intervals_[off->second].end_ns = std::max(time_ns, intervals_[off->second].begin_ns);
    off_.erase(off);
  }

  // The next launch, which began at `start_ns`, is only counted, or is observed.
  void Count(std::uint64_t start_ns) {
    if (!is_counting_) {
      is_counting_ = true;
      counted_ = {0, start_ns, start_ns, 0};
    }
    counted_.begin_ns = std::min(counted_.begin_ns, start_ns);
    counted_.end_ns = std::max(counted_.end_ns, start_ns);
    ++counted_.launches;
    ++all_counted_;
  }
  void Observe() {
    if (is_counting_) EndCount();
  }

  // Returns all intervals, by begin.
  std::vector<model::UnobservedInterval> Intervals() const {
    std::vector<model::UnobservedInterval> all = intervals_;
    if (is_counting_) all.push_back(counted_);
    std::ranges::stable_sort(all, {}, &model::UnobservedInterval::begin_ns);
    return all;
  }
  std::uint64_t unlisted() const { return unlisted_; }
  // Returns the number of launches that were only counted, whatever Restart forgets.
  std::uint64_t all_counted() const { return all_counted_; }

  // Forgets the intervals before `now_ns`.
  void Restart(std::uint64_t now_ns) {
    std::vector<model::UnobservedInterval> open;
    for (auto& [process, at] : off_) {
      open.push_back({intervals_[at].pid, now_ns});
      at = open.size() - 1;
    }
    intervals_ = std::move(open);
    is_counting_ = false;
    unlisted_ = 0;
  }

 private:
  void EndCount() {
    is_counting_ = false;
    if (intervals_.size() < model::kMaxUnobservedIntervals) {
      intervals_.push_back(counted_);
    } else {
      ++unlisted_;
    }
  }

  std::vector<model::UnobservedInterval> intervals_;
  std::unordered_map<const void*, std::size_t> off_;  // processes that are off: their interval
  model::UnobservedInterval counted_;
  bool is_counting_ = false;
  std::uint64_t unlisted_ = 0;
  std::uint64_t all_counted_ = 0;
};

}  // namespace stemtap::session
