// SPDX-License-Identifier: Apache-2.0
//
// CaptureClaims decides whether a launch that a process reports as captured can have been captured:
// if its slot has been granted as many credits, or if it is the first exploratory capture of its
// kernel in the process. Otherwise, a process could make the plan, and the memory of the collector,
// as large as it likes. Memory is O(exploratory captures).
//
// THREADS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "shm/record.h"

namespace stemtap::session {

class CaptureClaims {
 public:
  // Maximum exploratory captures of a session: 64 processes with 4,096 kernels each. A capture
  // takes 1 KiB of memory until the plan is written.
  static constexpr std::size_t kMaxExplored = std::size_t{1} << 18;

  // Returns whether to accept the claim of a captured launch, and counts it. `granted`: credits
  // granted so far to the slot of the launch.
  bool Accept(const shm::KernelRecord& record, std::uint16_t process, std::uint32_t granted) {
    const bool accepted = (record.flags & shm::kFlagExploratory) != 0
                              ? Explore(record.name_id, process)
                              : Spend(record.credit_slot, granted);
    refused_ += !accepted;
    return accepted;
  }
  std::uint64_t refused() const { return refused_; }

 private:
  bool Explore(std::uint32_t name_id, std::uint16_t process) {
    if (explored_.size() >= kMaxExplored) return false;
    return explored_.insert(std::uint64_t{process} << 32 | name_id).second;
  }
  bool Spend(std::uint16_t slot, std::uint32_t granted) {
    if (slot >= spent_.size()) spent_.resize(std::size_t{slot} + 1, 0);
    if (spent_[slot] >= granted) return false;
    ++spent_[slot];
    return true;
  }

  std::unordered_set<std::uint64_t> explored_;  // process and name id
  std::vector<std::uint32_t> spent_;            // by slot
  std::uint64_t refused_ = 0;
};

}  // namespace stemtap::session
