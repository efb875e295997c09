// SPDX-License-Identifier: Apache-2.0
//
// KernelState is all that the online sampler knows of one kernel: O(bins + contexts + captures),
// never O(invocations).
//
// THREADS: none; different kernels may be updated by different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "online/context_predictor.h"
#include "stats/log_sketch.h"
#include "stem/stratify.h"
#include "trace/plan.h"
#include "wire/record.h"

namespace stemtap {

// Observation is one launch whose duration has come back.
struct Observation {
  wire::KernelRecord record;  // name_id is the sampler's kernel id
  std::uint64_t index = 0;    // launch index
  std::uint64_t config_key = 0;
  std::uint64_t history_key = 0;
};

// OnlineCluster is an interval of a kernel's sketch bins, and how far its sampling has come.
struct OnlineCluster {
  std::uint32_t first_bin = 0;  // bins [first_bin, end_bin)
  std::uint32_t end_bin = 0;
  Moments moments;             // as of the last cut
  std::uint64_t captured = 0;  // by credit
  std::uint64_t explored = 0;  // at the first sight of the name
  std::uint64_t own_size = 1;  // the method's own sample size
  std::uint64_t target = 0;    // as of the last allocation
  bool closed = false;
};

// CreditLine is the account of one gate slot: the credits of one cluster ordinal of one kernel.
struct CreditLine {
  std::uint32_t slot = 0;
  std::uint32_t returned = 0;  // captures that came back
  std::uint32_t misses = 0;    // of these, into another cluster than predicted
};

class KernelState {
 public:
  explicit KernelState(std::uint64_t name_key) : name_key_(name_key), contexts_(name_key) {}

  // Counts the launches batch[at] for each `at` of `order`, in that order.
  void Observe(std::span<const Observation> batch, std::span<const std::uint32_t> order);

  // Notes a capture already counted by Observe.
  void AddCaptured(const PlanSample& sample);

  // How many captures count for a cluster of this kernel. The exploratory one was made at the
  // kernel's first launch, which is no random draw: cold clocks and caches, 10 to 25 % off
  // (docs/maths/online.md, finding 4). It stands in where there is no other, and for kernels of few
  // launches, where one capture more is a large share of them; else it gives way.
  std::uint64_t Counted(const OnlineCluster& cluster) const {
    return cluster.captured == 0 || sketch_.count() < kManyLaunches
               ? cluster.captured + cluster.explored
               : cluster.captured;
  }
  // How many captures count against the target of a cluster: the same, but that a kernel of many
  // launches is to have its target without the exploratory one.
  std::uint64_t Towards(const OnlineCluster& cluster) const {
    return sketch_.count() < kManyLaunches ? cluster.captured + cluster.explored : cluster.captured;
  }

  // Cuts the clusters anew, their moments and captures up to date with the sketch.
  // REQUIRES: at least one launch was counted.
  void Recut(Method method, const ErrorTarget& target);

  // Index of the cluster that holds `bin`; for bins not seen at the last cut, that of the nearest
  // below.
  std::size_t ClusterOf(std::uint32_t bin) const {
    if (cluster_of_bin_.empty() || bin < first_cut_bin_) return 0;
    const std::size_t at = bin - first_cut_bin_;
    return at < cluster_of_bin_.size() ? cluster_of_bin_[at] : cluster_of_bin_.back();
  }

  // The stored captures, in launch order: those paid by credit, and those at first sight.
  const std::vector<PlanSample>& samples() const { return samples_; }
  const std::vector<PlanSample>& explored() const { return explored_; }

  std::uint64_t name_key() const { return name_key_; }
  const LogSketch& sketch() const { return sketch_; }
  std::uint64_t zero_duration() const { return zero_duration_; }
  std::vector<OnlineCluster>& clusters() { return clusters_; }
  const std::vector<OnlineCluster>& clusters() const { return clusters_; }
  ContextPredictor& contexts() { return contexts_; }
  std::vector<CreditLine>& credit_lines() { return credit_lines_; }  // by cluster ordinal

  // Captures seen by Observe and not yet settled with the gate.
  std::vector<PlanSample>& unsettled() { return unsettled_; }
  // Whether every context must be published anew: clusters were cut, or got a slot.
  bool recut() const { return recut_; }
  void MarkRecut() { recut_ = true; }
  void ClearRecut() { recut_ = false; }
  // Whether the sketch holds launches that the clusters do not.
  bool stale() const { return cut_at_ != sketch_.count(); }

 private:
  // From here on one capture more costs less than half a percent of a kernel's time.
  static constexpr std::uint64_t kManyLaunches = 256;

  std::uint64_t name_key_;
  LogSketch sketch_;
  std::uint64_t zero_duration_ = 0;
  std::uint64_t cut_at_ = 0;  // sketch count at the last cut
  bool recut_ = false;
  std::vector<OnlineCluster> clusters_;
  // The last cut as a table, because every launch asks: cluster of bin first_cut_bin_ + i.
  std::vector<std::uint16_t> cluster_of_bin_;
  std::uint32_t first_cut_bin_ = 0;
  ContextPredictor contexts_;
  std::vector<CreditLine> credit_lines_;
  std::vector<PlanSample> samples_;
  std::vector<PlanSample> explored_;  // one per process that met the name before the gate knew it
  std::vector<PlanSample> unsettled_;
};

}  // namespace stemtap
