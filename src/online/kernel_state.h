// SPDX-License-Identifier: Apache-2.0
//
// KernelState is the online sampler's state of one kernel. Memory is O(bins + contexts + captures),
// independent of the number of launches.
//
// The first launch of a kernel name is always captured (an exploratory capture), so it is not a
// random draw: clocks and caches are cold, and its duration differs by 10 to 25 %
// (docs/math/online.md, finding 4). It forms a separate stratum whose time is known exactly and is
// not part of the sketch or of the clusters. It represents a cluster only if no random capture does
// (JoinStrata).
//
// If captures perturb launches, the recorded durations of perturbed launches are not part of the
// sketch. Such launches are imputed with their context's mean, NativeTimes provides the cells, and
// the duration of a sample is updated with its context until the run ends.
//
// THREADS: none; different threads may update different kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/plan.h"
#include "online/context_predictor.h"
#include "online/native_times.h"
#include "online/online_cluster.h"
#include "online/prediction_record.h"
#include "sampling/stratum.h"
#include "sampling/workload_strata.h"
#include "shm/context_key.h"
#include "shm/record.h"
#include "stats/log_sketch.h"
#include "stats/time_slices.h"

namespace stemtap::online {

// Observation is one launch whose duration has been recorded.
struct Observation {
  shm::KernelRecord record;      // name_id contains the sampler's kernel id
  std::uint64_t index = 0;       // launch index
  std::uint64_t occurrence = 0;  // 0-based, among the launches of this kernel name
  std::uint64_t config_key = 0;
  std::uint64_t history_key = 0;
  std::uint64_t node_key = 0;  // NodeKey if the gate looks it up, else 0
};

// CapturedLaunch is one capture. `recorded_ns` and `captured` are used only if captures perturb
// launches.
struct CapturedLaunch {
  model::PlanSample sample;
  std::uint64_t recorded_ns = 0;
  std::uint32_t captured = 0;  // id in NativeTimes
  // The sketch bin that determines the cluster: the bin of the duration or, if captures perturb
  // launches, of the mean of the launch's group.
  std::uint32_t bin = 0;
};

// Capture is a capture by credit, and the number of launches of its kernel when its record arrived.
struct Capture {
  CapturedLaunch launch;
  std::uint64_t launches = 0;
  // The capture was early and its cluster has drifted since. It represents its cluster only if
  // there is no other capture.
  bool expired = false;
};

class KernelState {
 public:
  // The state covers all launches of the name or, if `config` is given, of that configuration.
  // `perturbed`: captures perturb launches, and perturbed launches have shm::kFlagPerturbed.
  KernelState(std::uint32_t name_id, std::uint64_t name_hash, const shm::LaunchConfig* config,
              bool perturbed = false)
      : name_id_(name_id),
        name_key_(shm::NameKey(name_hash)),
        root_key_(config == nullptr ? name_key_ : shm::ConfigKey(name_hash, *config)),
        config_(config == nullptr ? shm::LaunchConfig{} : *config),
        contexts_(root_key_),
        times_(perturbed ? std::make_unique<NativeTimes>() : nullptr) {}

  // Adds the launches batch[at] for each `at` in `order`, in that order.
  void Observe(std::span<const Observation> batch, std::span<const std::uint32_t> order);

  // Adds a capture by credit. REQUIRES: Observe has seen the launch.
  void AddCaptured(const CapturedLaunch& captured);

  // Recomputes the cells of the launches and the bin of each cell. They stay valid until the next
  // call.
  void UpdateCells();
  const sampling::KernelCells& cells() const { return cells_; }

  // Returns the first cell of each cluster. Clusters that no longer contain a cell are left out.
  std::vector<std::size_t> CurrentFirstCells() const;

  // Sets the clusters to begin at `first_cells` and updates their moments and captures from
  // cells(). `anew`: the clusters are new, not the previous clusters with more launches.
  void SetCut(std::span<const std::size_t> first_cells, bool anew);

  // Returns the index of the cluster that contains `bin`.
  std::size_t ClusterOf(std::uint32_t bin) const {
    if (cluster_of_bin_.empty() || bin < first_cut_bin_) return 0;
    const std::size_t at = bin - first_cut_bin_;
    return at < cluster_of_bin_.size() ? cluster_of_bin_[at] : cluster_of_bin_.back();
  }

  // The captures by credit, and the exploratory captures: one per process that launched the name
  // before the gate table contained it.
  const std::vector<Capture>& captures() const { return captures_; }
  const std::vector<CapturedLaunch>& explored() const { return explored_; }

  std::uint32_t name_id() const { return name_id_; }
  std::uint64_t name_key() const { return name_key_; }
  // The key of the context that covers exactly the launches of the kernel.
  std::uint64_t root_key() const { return root_key_; }
  const shm::LaunchConfig& config() const { return config_; }
  std::uint64_t last_occurrence() const { return last_occurrence_; }
  // All launches with a native duration except exploratory captures.
  const stats::LogSketch& sketch() const { return sketch_; }
  // All launches and their time. Imputed durations are as of the last UpdateCells.
  std::uint64_t launches() const { return counted() + explored_.size(); }
  std::uint64_t duration_ns() const {
    return static_cast<std::uint64_t>(sketch_.total_duration()) + counted_imputed_ns() +
           explored_ns_;
  }
  // Launches with an imputed duration, and the sum of the imputed durations.
  std::uint64_t imputed() const {
    return times_ == nullptr ? 0 : times_->perturbed() + explored_.size();
  }
  std::uint64_t imputed_ns() const {
    return times_ == nullptr ? 0 : counted_imputed_ns() + explored_ns_;
  }
  // Whether no launch of the kernel has a native duration.
  bool native_unknown() const { return imputed() != 0 && sketch_.count() == 0; }
  std::uint64_t explored_ns() const { return explored_ns_; }
  std::uint64_t zero_duration() const { return zero_duration_; }
  // All launches with a known start time, with their recorded durations.
  const stats::TimeSlices& slices() const { return slices_; }
  std::vector<OnlineCluster>& clusters() { return clusters_; }
  const std::vector<OnlineCluster>& clusters() const { return clusters_; }
  ContextPredictor& contexts() { return contexts_; }
  // Launches offered to each credit line (credit_ledger.h) up to the last allocation: the common
  // line, followed by one line per cluster of the cut with the most clusters.
  const std::vector<double>& offered() const { return offered_; }
  static constexpr std::size_t kCommonLine = 0;
  // The line that launches predicted for the cluster are offered to.
  std::size_t LineOf(std::size_t cluster) const { return clusters_[cluster].line; }

  // Captures that Observe has seen and that are not settled with the gate yet.
  std::vector<CapturedLaunch>& unsettled() { return unsettled_; }
  // Requests that every context is published again, because clusters were cut or a line got a slot.
  void RequestPublication() { publish_all_ = true; }
  // Returns whether that was requested, and clears the request.
  bool TakePublicationRequest() { return std::exchange(publish_all_, false); }
  // Whether the gate table contains the name, if the name is not the root key.
  bool announced() const { return announced_; }
  void SetAnnounced() { announced_ = true; }
  // Whether samples have been allocated to the clusters.
  bool allocated() const { return allocated_; }
  void SetAllocated() { allocated_ = !clusters_.empty(); }
  // Whether there are launches that are not in the cells yet.
  bool stale() const { return cells_at_ != counted(); }

 private:
  // A capture is early if the kernel has been launched at least this many times as often as when
  // the capture was made. Replacing early captures thus costs at most one capture per eightfold
  // growth.
  static constexpr std::uint64_t kEarly = 8;
  // An early capture expires if the mean duration of its cluster before and after that time
  // differs by more than this share ...
  static constexpr double kDrift = 0.02;
  // ... and by more than this many standard errors. Smaller differences are chance: without this
  // condition, most early captures of wide clusters were given up although nothing drifted, and the
  // captured time was 1.7 times as high.
  static constexpr double kSureDrift = 3.0;

  // A line can be the source of a cluster only if it is offered at least this share of the
  // cluster's launches. A context that does not recur predicts well but yields no captures.
  static constexpr double kMinSupply = 0.125;

  // A cluster has its own line only if its predictions are wrong at most this many times as often
  // as a guess. Otherwise contexts that agree by chance split the launches of a kernel into lines
  // that are too short to yield captures; thousands of clusters stayed empty.
  static constexpr double kMaxWrong = 0.5;

  std::size_t CellOf(std::uint32_t bin) const;
  // Marks early captures of clusters that have drifted as expired.
  void ExpireCaptures();
  // All launches except exploratory captures.
  std::uint64_t counted() const {
    return sketch_.count() + (times_ == nullptr ? 0 : times_->perturbed());
  }
  std::uint64_t counted_imputed_ns() const { return times_ == nullptr ? 0 : times_->imputed_ns(); }
  void ObservePerturbed(const Observation& seen);
  void SetLines();
  // Sets the line and the source of each cluster.
  void SetSources();
  // Sets the imputed duration and the bin of a capture. The bin is from the mean of its group or,
  // for an exploratory capture, of its regime.
  void Impute(CapturedLaunch& launch, bool explored) const;

  std::uint32_t name_id_;
  std::uint64_t name_key_;
  std::uint64_t root_key_;
  shm::LaunchConfig config_;
  stats::LogSketch sketch_;
  stats::TimeSlices slices_;
  std::uint64_t explored_ns_ = 0;
  std::uint64_t zero_duration_ = 0;
  std::uint64_t last_occurrence_ = 0;
  sampling::KernelCells cells_;
  std::vector<std::uint32_t> cell_bins_;
  std::uint64_t cells_at_ = 0;  // launches at the last UpdateCells
  bool publish_all_ = false;
  bool announced_ = false;
  bool allocated_ = false;
  std::vector<OnlineCluster> clusters_;
  // The last cut as a lookup table, because every launch uses it: cluster of bin first_cut_bin_ +
  // i.
  std::vector<std::uint16_t> cluster_of_bin_;
  std::uint32_t first_cut_bin_ = 0;
  ContextPredictor contexts_;
  PredictionRecord predictions_;
  std::unique_ptr<NativeTimes> times_;  // null if all durations are native
  std::vector<double> offered_;         // by credit line
  std::vector<Capture> captures_;
  std::vector<stats::LogSketch>
      earlier_;  // sketches at the latest doublings of launches, oldest first
  std::vector<CapturedLaunch> explored_;
  std::vector<CapturedLaunch> unsettled_;
};

}  // namespace stemtap::online
