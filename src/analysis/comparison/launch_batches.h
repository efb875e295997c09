// SPDX-License-Identifier: Apache-2.0
//
// LaunchBatches sums the durations of consecutive launches of a kernel. All batches but the last
// have the same number of launches, a power of two that doubles whenever there are kMaxBatches.
//
// Durations of consecutive launches are correlated, so the spread of single durations does not
// determine the error of their mean. The spread of the means of long batches does
// (docs/math/diff.md).
//
// Memory: 16 bytes per batch, at most 8 KiB.  UNITS: ns.  THREADS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stemtap::analysis {

struct LaunchBatch {
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
};

class LaunchBatches {
 public:
  // Enough to divide a run into 32 groups of nearly equal numbers of launches.
  static constexpr std::size_t kMaxBatches = 512;

  void Add(std::uint64_t duration_ns) {
    if (batches_.empty() || batches_.back().launches == size_) NewBatch();
    ++batches_.back().launches;
    batches_.back().duration_ns += duration_ns;
  }

  std::span<const LaunchBatch> batches() const { return batches_; }

 private:
  void NewBatch() {
    if (batches_.size() == kMaxBatches) {
      for (std::size_t i = 0; i < kMaxBatches / 2; ++i) {
        const LaunchBatch& first = batches_[2 * i];
        const LaunchBatch& second = batches_[2 * i + 1];
        batches_[i] = {first.launches + second.launches, first.duration_ns + second.duration_ns};
      }
      batches_.resize(kMaxBatches / 2);
      size_ *= 2;
    }
    batches_.emplace_back();
  }

  std::uint64_t size_ = 1;  // launches per batch
  std::vector<LaunchBatch> batches_;
};

}  // namespace stemtap::analysis
