// SPDX-License-Identifier: Apache-2.0
//
// EpochQueue holds launches until their epoch is due: when the epoch is full and its last launch is
// more than `lag` launches old.
//
// THREADS: one caller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "online/kernel_state.h"

namespace stemtap::session {

class EpochQueue {
 public:
  explicit EpochQueue(std::uint64_t lag) : lag_(lag) {}

  // Adds a launch; the reference is valid until the next call.
  online::Observation& Add() { return pending_.emplace_back(); }

  // Returns whether an epoch is due after `launches` launches of the run.
  bool Due(std::uint64_t launches) const {
    return size() >= epoch_ && launches - pending_[head_ + epoch_ - 1].index > lag_;
  }
  bool empty() const { return size() == 0; }
  // Returns the length of the next epoch, except at the end of the run.
  std::uint64_t epoch() const { return epoch_; }

  // Returns the launches of the next epoch; at the end of the run, it may be shorter.
  std::span<const online::Observation> Next() const {
    return std::span(pending_).subspan(head_, std::min<std::size_t>(size(), epoch_));
  }

  // Removes the launches that Next returned.
  void Pop() {
    const std::size_t count = Next().size();
    observed_ += count;
    epoch_ = std::clamp(observed_ / kEpochShare, kMinEpoch, kMaxEpoch);
    head_ += count;
    // The head is removed when it is half of the vector, so each launch moves at most once on
    // average.
    if (head_ * 2 < pending_.size()) return;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }

 private:
  // Epoch sizes grow with the number of launches, from 64 (a short program must learn something
  // before it ends) to 8192 (larger epochs save no measurable time and delay feedback). They depend
  // only on counts, so decisions do not depend on speed.
  static constexpr std::uint64_t kMinEpoch = 64;
  static constexpr std::uint64_t kMaxEpoch = 8192;
  static constexpr std::uint64_t kEpochShare = 16;

  std::size_t size() const { return pending_.size() - head_; }

  std::uint64_t lag_;
  std::uint64_t observed_ = 0;
  std::uint64_t epoch_ = kMinEpoch;
  // Launches not yet observed are pending_[head_..], oldest first.
  std::vector<online::Observation> pending_;
  std::size_t head_ = 0;
};

}  // namespace stemtap::session
