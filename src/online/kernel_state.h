// SPDX-License-Identifier: Apache-2.0
//
// KernelState is the online sampler's state of one kernel. Memory is O(bins + contexts + captures),
// independent of the number of launches.
//
// THREADS: none; different threads may update different kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "online/cluster.h"
#include "online/context_predictor.h"
#include "online/kernel_periods.h"
#include "online/kernel_sketch.h"
#include "shm/context_key.h"
#include "stats/serial_correlation.h"

namespace stemtap::online {

// KernelCaptures is the captures of one kernel.
//
// The first launch of a kernel name is always captured (an exploratory capture), so it is not a
// random draw: clocks and caches are cold, and its duration differs by 10 to 25 %
// (docs/math/online.md, finding 4). It forms a separate stratum whose time is known exactly and is
// not part of the sketch or of the clusters. It represents a cluster only if no random capture does
// (JoinStrata).
//
// THREADS: none.  UNITS: ns.
class KernelCaptures {
 public:
  // Adds a capture whose record has arrived.
  void Observe(const Capture& launch) {
    unsettled_.push_back(launch);
    if (!launch.explored()) return;
    explored_.push_back(launch);
    explored_ns_ += launch.sample.record.duration_ns;
  }
  // Returns the captures since the last call. They are not settled with the gate yet.
  std::vector<Capture> TakeUnsettled() { return std::exchange(unsettled_, {}); }
  // Adds a settled capture by credit.
  void Add(const Capture& launch) { by_credit_.push_back(launch); }
  // Updates imputed durations.
  void Impute(const KernelSketch& sketch);
  // Adds the captures to their clusters. REQUIRES: the periods of the clusters are up to date.
  void CountIn(KernelClusters& clusters, const KernelPeriods& periods,
               const stats::Correlations& correlations) const;

  const std::vector<Capture>& by_credit() const { return by_credit_; }
  // One per process that launched the name before the gate table contained it.
  const std::vector<Capture>& explored() const { return explored_; }
  std::uint64_t explored_ns() const { return explored_ns_; }

 private:
  std::vector<Capture> by_credit_;
  std::vector<Capture> explored_;
  std::vector<Capture> unsettled_;
  std::uint64_t explored_ns_ = 0;
};

// KernelState is all that the sampler knows of one kernel. MEMBERS: one for each part of the state;
// the parts are types that can be tested alone.
class KernelState {
 public:
  // The state covers all launches of the name or, if `config` is given, of that configuration.
  // `perturbed`: see KernelSketch. `fixed_ns`: CapturePrice::FixedPerFactor.
  KernelState(std::uint32_t name_id, std::uint64_t name_hash, const shm::LaunchConfig* config,
              bool perturbed = false, double fixed_ns = 0.0)
      : name_id_(name_id),
        name_key_(shm::NameKey(name_hash)),
        root_key_(config == nullptr ? name_key_ : shm::ConfigKey(name_hash, *config)),
        config_(config == nullptr ? shm::LaunchConfig{} : *config),
        sketch_(perturbed),
        clusters_(fixed_ns),
        contexts_(root_key_) {}

  // Adds a further name, whose launches are launches of this kernel.
  void AddName(std::uint64_t name_hash) {
    if (shm::NameKey(name_hash) == root_key_) return;
    more_name_keys_.push_back(shm::NameKey(name_hash));
    RequestPublication();
  }

  // Adds the launches batch[at] for each `at` in `order`, in that order.
  void Observe(std::span<const Observation> batch, std::span<const std::uint32_t> order);

  // Sets the number of captures by credit, in all, that a Director allows. Without it, the clusters
  // get what they need.
  void SetAllowed(std::optional<std::uint64_t> captures) { allowed_ = captures; }
  bool is_directed() const { return allowed_.has_value(); }
  // How many of `credits` may still be spent.
  std::uint32_t AllowedOf(std::uint32_t credits) const {
    if (!allowed_) return credits;
    const std::uint64_t made = captures_.by_credit().size();
    const std::uint64_t further = *allowed_ - std::min(*allowed_, made);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(credits, further));
  }

  // Returns the captures since the last call. They are not settled with the gate yet.
  std::vector<Capture> TakeUnsettled() { return captures_.TakeUnsettled(); }
  // Adds a capture by credit. Returns the index of its cluster. REQUIRES: Observe has seen the
  // launch.
  std::size_t AddCaptured(const Capture& captured);

  // Recomputes the cells of the launches. They stay valid until the next call.
  void UpdateCells() {
    sketch_.UpdateCells();
    periods_.Update(sketch_);
    captures_.Impute(sketch_);
    correlation_.Update();
  }
  const sampling::KernelCells& cells() const { return sketch_.cells().moments; }

  // Sets the clusters to begin at `first_cells` and updates their moments and captures. See
  // KernelClusters::SetCut.
  void SetCut(std::span<const std::size_t> first_cells, bool anew);
  // Returns the first cell of each cluster. Clusters that no longer contain a cell are left out.
  std::vector<std::size_t> CurrentFirstCells() const {
    return FirstCells(clusters_.list(), sketch_.cells());
  }
  // Returns the index of the cluster that contains `bin`.
  std::size_t ClusterOf(std::uint32_t bin) const { return clusters_.ClusterOf(bin); }
  std::vector<Cluster>& clusters() { return clusters_.list(); }
  const std::vector<Cluster>& clusters() const { return clusters_.list(); }
  // The line that launches predicted for the cluster are offered to. A kernel of which all launches
  // are exploratory captures, of several processes, has no clusters.
  std::size_t LineOf(std::size_t cluster) const {
    return clusters().empty() ? KernelClusters::kCommonLine : clusters()[cluster].line;
  }
  const std::vector<double>& offered() const { return clusters_.offered(); }

  std::uint32_t name_id() const { return name_id_; }
  std::uint64_t name_key() const { return name_key_; }
  // The key of the context that covers exactly the launches of the kernel.
  std::uint64_t root_key() const { return root_key_; }
  // The keys of further names, which the gate looks up like the root key.
  const std::vector<std::uint64_t>& more_name_keys() const { return more_name_keys_; }
  const shm::LaunchConfig& config() const { return config_; }
  std::uint64_t last_occurrence() const { return last_occurrence_; }
  ContextPredictor& contexts() { return contexts_; }
  const KernelSketch& sketch() const { return sketch_; }
  const KernelCaptures& captures() const { return captures_; }
  const KernelPeriods& periods() const { return periods_; }
  // Of the durations of launches of one cluster.
  const stats::Correlations& correlations() const { return correlation_.latest(); }

  // All launches and their time. Imputed durations are as of the last UpdateCells.
  std::uint64_t launches() const { return sketch_.launches() + captures_.explored().size(); }
  std::uint64_t duration_ns() const { return sketch_.duration_ns() + captures_.explored_ns(); }
  // Launches with an imputed duration, and the sum of the imputed durations.
  std::uint64_t imputed() const {
    return sketch_.imputes() ? sketch_.imputed() + captures_.explored().size() : 0;
  }
  std::uint64_t imputed_ns() const {
    return sketch_.imputes() ? sketch_.imputed_ns() + captures_.explored_ns() : 0;
  }
  // Whether no launch of the kernel has a native duration.
  bool native_unknown() const { return imputed() != 0 && sketch_.durations().count() == 0; }

  // Requests that every context is published again, because clusters were cut or a line got a slot.
  void RequestPublication() { publish_all_ = true; }
  // Returns whether that was requested, and clears the request.
  bool TakePublicationRequest() { return std::exchange(publish_all_, false); }
  // Whether samples have been allocated to the clusters.
  bool allocated() const { return allocated_; }
  void SetAllocated() { allocated_ = !clusters().empty(); }

 private:
  // Returns the place of the next launch of the sketch, whose bin is `bin`.
  LaunchPlace PlaceOf(std::uint32_t bin) const;

  std::uint32_t name_id_;
  std::uint64_t name_key_;
  std::uint64_t root_key_;
  std::vector<std::uint64_t> more_name_keys_;
  shm::LaunchConfig config_;
  std::uint64_t last_occurrence_ = 0;
  KernelSketch sketch_;
  KernelClusters clusters_;
  KernelPeriods periods_;
  KernelCaptures captures_;
  ContextPredictor contexts_;
  PredictionRecord predictions_;
  stats::SerialCorrelation correlation_;  // of the sketch bins of the durations
  std::vector<std::uint32_t> mean_bins_;  // by cluster, as of the last cut
  std::optional<std::uint64_t> allowed_;
  bool publish_all_ = false;
  bool allocated_ = false;
};

}  // namespace stemtap::online
