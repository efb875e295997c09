// SPDX-License-Identifier: Apache-2.0
//
// PredictionRecord stores, for each duration bin of a kernel, the predictions for its latest
// launches. For any cut into clusters, it gives the share of correct predictions:
//
//   predicted ->   none   cluster 0   cluster 1
//   in cluster 0      0         950          50      launches predicted to be in cluster 1:
//   in cluster 1      0           0         100      100 of 150 are in it
//
// The record is by bin, not by cluster, so it stays valid after a new cut. Memory: 36 bytes per
// bin.
//
// THREADS: none.  SOURCE: docs/math/online-bound.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stemtap::online {

class PredictionRecord {
 public:
  // Number of predictions stored per bin. Shares are multiples of one eighth in a bin, and finer in
  // a cluster of several bins.
  static constexpr std::size_t kLatest = 8;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Records that a launch in `bin` was predicted to be in the bin `predicted`, or kNone.
  void Add(std::uint32_t bin, std::uint32_t predicted) {
    Latest& latest = At(bin);
    latest.predicted[latest.count++ % kLatest] = predicted;
  }

  // Calls visit(predicted, share) for each stored prediction of the bin. The shares add up to 1.
  template <typename Visit>
  void ForEach(std::uint32_t bin, const Visit& visit) const {
    if (bin < first_ || bin - first_ >= bins_.size()) return;
    const Latest& latest = bins_[bin - first_];
    const std::size_t known = latest.count < kLatest ? latest.count : kLatest;
    for (std::size_t i = 0; i < known; ++i) {
      visit(latest.predicted[i], 1.0 / static_cast<double>(known));
    }
  }

 private:
  struct Latest {
    std::array<std::uint32_t, kLatest> predicted;
    std::uint32_t count = 0;
  };

  Latest& At(std::uint32_t bin) {
    if (bins_.empty()) first_ = bin;
    if (bin < first_) {
      bins_.insert(bins_.begin(), first_ - bin, Latest{});
      first_ = bin;
    } else if (bin - first_ >= bins_.size()) {
      bins_.resize(bin - first_ + 1);
    }
    return bins_[bin - first_];
  }

  std::uint32_t first_ = 0;
  std::vector<Latest> bins_;
};

}  // namespace stemtap::online
