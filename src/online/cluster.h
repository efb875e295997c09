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

#include "online/context_predictor.h"
#include "online/kernel_sketch.h"
#include "stats/moments.h"

namespace stemtap::online {

// Source is the credit line from which captures of a cluster are cheapest.
struct Source {
  // A cluster is predicted if at least this share of the line's launches falls into it.
  static constexpr double kPredicted = 0.5;

  std::size_t line = 0;
  double yield = 1.0;     // share of the line's launches that fall into the cluster, > 0
  double price_ns = 0.0;  // cost per capture that falls into the cluster (CapturePrice)

  bool predicted() const { return yield >= kPredicted; }
};

// ClusterPeriod is the launches of a cluster in one period (kernel_periods.h) and their captures.
struct ClusterPeriod {
  stats::Moments launches;     // as of the last allocation
  std::uint64_t captured = 0;  // by credit
  double positions = 0.0;      // sum of the positions of these captures
  double repeats = 0.0;        // sum of the correlations of all ordered pairs of these captures

  // Returns how many independent captures have the information of these.
  double independent() const {
    const auto all = static_cast<double>(captured);
    return captured == 0 ? 0.0 : all * all / (all + repeats);
  }
};

// Decision is how many captures a cluster should get. WRITER: OnlineSampler, with the results of
// Allocator or of a Director; fleet::Leader for the clusters of a job.
struct Decision {
  std::uint64_t target = 0;  // 0: no capture may be made
  bool unreachable = false;  // no capture, and one would cost more than it is worth
  bool is_shared = false;    // other runs' captures represent the cluster too (Director)
  // Captures that a plan of the launches so far needs. The newest captures that are so many
  // represent the whole cluster; earlier ones are not used. Depends on durations only.
  std::uint64_t enough = 1;
};

// Request is the progress of a cluster toward its target. WRITER: GatePublisher.
struct Request {
  // Launches of the cluster when it began to wait for its next capture; 0 if it needs none.
  std::uint64_t waiting_since = 0;
  bool closed = false;  // the target is reached
};

// Cluster is an interval of a kernel's cells with the state of its sampling. WRITER: KernelState,
// except for `decision` and `request`, which keep their values while the cluster keeps its index.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online.md, docs/math/online-bound.md.
struct Cluster {
  std::uint32_t first_bin = 0;         // bins from here to the next cluster's first_bin
  std::uint32_t end_bin = 0;           // one past the last bin that contains a launch
  stats::Moments moments;              // as of the last allocation
  std::uint64_t captured = 0;          // by credit
  stats::Moments explored;             // exploratory captures, as of the last allocation
  std::vector<ClusterPeriod> periods;  // of the kernel; the last one has not ended
  std::size_t line = 0;  // line that launches predicted for this cluster are offered to
  Source source;         // as of the last cut or allocation
  Decision decision;
  Request request;

  // Adds a capture of the launch at `position`, which is in `period`. `repeats`: the sum of its
  // correlations with the captures before it in the period.
  void AddCapture(std::size_t period, std::uint64_t position, double repeats = 0.0) {
    ++captured;
    ++periods[period].captured;
    periods[period].positions += static_cast<double>(position);
    periods[period].repeats += 2.0 * repeats;
  }
  // Returns the cost per capture of the cluster.
  double price_ns() const { return std::max(source.price_ns, moments.mean()); }
  bool has_enough() const { return captured > 0 && captured >= decision.target; }
};

// Returns the first cell of each cluster. Clusters that no longer contain a cell are left out.
std::vector<std::size_t> FirstCells(std::span<const Cluster> clusters, const BinnedCells& cells);

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

  // Returns the index of the cluster that contains `bin`.
  std::size_t ClusterOf(std::uint32_t bin) const {
    if (cluster_of_bin_.empty() || bin < first_cut_bin_) return 0;
    const std::size_t at = bin - first_cut_bin_;
    return at < cluster_of_bin_.size() ? cluster_of_bin_[at] : cluster_of_bin_.back();
  }
  std::vector<Cluster>& list() { return list_; }
  const std::vector<Cluster>& list() const { return list_; }
  // Launches offered to each credit line (credit_ledger.h) up to the last allocation: the common
  // line, followed by one line per cluster of the cut with the most clusters.
  const std::vector<double>& offered() const { return offered_; }

 private:
  bool SetLines(const BinnedCells& cells, const PredictionRecord& predictions);

  double fixed_ns_;
  std::vector<Cluster> list_;
  // The cut as a lookup table, because every launch uses it: the cluster of bin first_cut_bin_ + i.
  std::vector<std::uint16_t> cluster_of_bin_;
  std::uint32_t first_cut_bin_ = 0;
  std::vector<double> offered_;  // by credit line
};

}  // namespace stemtap::online
