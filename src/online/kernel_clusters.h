// SPDX-License-Identifier: Apache-2.0
//
// KernelClusters is the division of one kernel's durations into clusters, and the credit lines that
// their captures come from.
//
// THREADS: none.  SOURCE: docs/math/online-bound.md, "Credit lines" and "The stopping rule".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "online/kernel_sketch.h"
#include "online/online_cluster.h"
#include "online/prediction_record.h"

namespace stemtap::online {

class KernelClusters {
 public:
  static constexpr std::size_t kCommonLine = 0;

  // `fixed_ns`: CapturePrice::FixedPerFactor.
  explicit KernelClusters(double fixed_ns = 0.0) : fixed_ns_(fixed_ns) {}

  // Sets the clusters to begin at `first_cells`, indices into `cells` that are ascending and start
  // with 0. They contain no captures. `anew`: the clusters are new, not the previous clusters with
  // more launches. A cluster that keeps its index keeps its target until sizes are allocated.
  void SetCut(const BinnedCells& cells, std::span<const std::size_t> first_cells, bool anew);
  // Sets the line and the source of each cluster. Returns whether a cluster changed its line.
  bool SetSources(const BinnedCells& cells, const PredictionRecord& predictions);

  // Returns the first cell of each cluster. Clusters that no longer contain a cell are left out.
  std::vector<std::size_t> FirstCells(const BinnedCells& cells) const;
  // Returns the index of the cluster that contains `bin`.
  std::size_t ClusterOf(std::uint32_t bin) const {
    if (cluster_of_bin_.empty() || bin < first_cut_bin_) return 0;
    const std::size_t at = bin - first_cut_bin_;
    return at < cluster_of_bin_.size() ? cluster_of_bin_[at] : cluster_of_bin_.back();
  }
  std::vector<OnlineCluster>& list() { return list_; }
  const std::vector<OnlineCluster>& list() const { return list_; }
  // Launches offered to each credit line (credit_ledger.h) up to the last allocation: the common
  // line, followed by one line per cluster of the cut with the most clusters.
  const std::vector<double>& offered() const { return offered_; }

 private:
  bool SetLines(const BinnedCells& cells, const PredictionRecord& predictions);

  double fixed_ns_;
  std::vector<OnlineCluster> list_;
  // The cut as a lookup table, because every launch uses it: the cluster of bin first_cut_bin_ + i.
  std::vector<std::uint16_t> cluster_of_bin_;
  std::uint32_t first_cut_bin_ = 0;
  std::vector<double> offered_;  // by credit line
};

}  // namespace stemtap::online
