// SPDX-License-Identifier: Apache-2.0
//
// KernelBatches sorts the observations of an epoch by kernel. The order within a kernel stays the
// launch order, so every decision follows it.
//
// THREADS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "online/kernel_sketch.h"

namespace stemtap::online {

class KernelBatches {
 public:
  void AddKernel() { counts_.push_back(0); }

  // Begins an epoch. Call Count for each of its observations, then Sort. `batch` must be valid
  // until the end of the epoch.
  void Begin(std::span<const Observation> batch) {
    batch_ = batch;
    touched_.clear();
  }
  void Count(std::uint32_t kernel) {
    if (counts_[kernel]++ == 0) touched_.push_back({kernel, 0, 0});
  }
  void Sort() {
    std::uint32_t first = 0;
    for (Touched& t : touched_) {
      t.first = first;
      first += std::exchange(counts_[t.kernel], first);
      t.count = first - t.first;
    }
    order_.resize(batch_.size());
    for (std::uint32_t i = 0; i < batch_.size(); ++i) {
      order_[counts_[batch_[i].record.name_id]++] = i;
    }
    for (const Touched& t : touched_) counts_[t.kernel] = 0;
  }
  // Adds the kernels without launches in this epoch for which is_wanted(kernel) is true.
  template <typename IsWanted>
  void AddIdle(const IsWanted& is_wanted) {
    for (const Touched& t : touched_) counts_[t.kernel] = 1;
    for (std::uint32_t kernel = 0; kernel < counts_.size(); ++kernel) {
      const bool idle = std::exchange(counts_[kernel], 0) == 0;
      if (idle && is_wanted(kernel)) touched_.push_back({kernel, 0, 0});
    }
  }

  // The kernels of the epoch, in order of their first launch; idle ones last.
  std::size_t size() const { return touched_.size(); }
  std::uint32_t kernel(std::size_t i) const { return touched_[i].kernel; }
  std::span<const Observation> batch() const { return batch_; }
  // Positions in batch() of the launches of the i-th kernel.
  std::span<const std::uint32_t> order(std::size_t i) const {
    return std::span(order_).subspan(touched_[i].first, touched_[i].count);
  }

 private:
  struct Touched {
    std::uint32_t kernel;
    std::uint32_t first;  // into order_
    std::uint32_t count;
  };

  std::span<const Observation> batch_;
  std::vector<std::uint32_t> order_;  // batch positions, grouped by kernel
  std::vector<Touched> touched_;
  std::vector<std::uint32_t> counts_;  // by kernel; zero between epochs
};

}  // namespace stemtap::online
