// SPDX-License-Identifier: Apache-2.0
//
// KernelState is all that the online sampler knows of one kernel: O(bins + contexts + captures),
// never O(invocations).
//
// A launch captured at first sight of its name is certain to be captured, so it is no random draw:
// clocks and caches are cold, and it is 10 to 25 % off (docs/math/online.md, finding 4). It is set
// aside as a stratum of its own that is known exactly, and is no part of the sketch or of the
// clusters. It stands for a cluster only if no random capture does (JoinStrata).
//
// Where captures are made for real, the recorded durations of captured launches (and of those beside
// them) are no part of the sketch: such launches count with the mean of their like, the cells are
// those of NativeTimes, and a sample's duration follows its like as long as the run lasts.
//
// THREADS: none; different kernels may be updated by different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/plan.h"
#include "online/context_predictor.h"
#include "online/native_times.h"
#include "online/prediction_record.h"
#include "sampling/stratum.h"
#include "sampling/workload_strata.h"
#include "shm/context_key.h"
#include "shm/record.h"
#include "stats/log_sketch.h"
#include "stats/time_slices.h"

namespace stemtap {

// Observation is one launch whose duration has come back.
struct Observation {
  shm::KernelRecord record;      // name_id is the sampler's kernel id
  std::uint64_t index = 0;       // launch index
  std::uint64_t occurrence = 0;  // 0-based, among the launches of this kernel name
  std::uint64_t config_key = 0;
  std::uint64_t history_key = 0;
  std::uint64_t node_key = 0;  // NodeKey, where the gate is asked under it; else 0
};

// Source is the credit line that captures of a cluster are cheapest from.
struct Source {
  // A cluster is predicted if at least this share of the line's launches falls into it.
  static constexpr double kPredicted = 0.5;

  std::size_t line = 0;
  double yield = 1.0;     // share of the line's launches that fall into the cluster, > 0
  double price_ns = 0.0;  // captured time per capture that falls into the cluster

  bool predicted() const { return yield >= kPredicted; }
};

// OnlineCluster is an interval of a kernel's sketch bins, and how far its sampling has come.
struct OnlineCluster {
  std::uint32_t first_bin = 0;  // bins from here to the next cluster's
  std::uint32_t end_bin = 0;    // past the last bin that holds a launch
  Moments moments;              // as of the last allocation
  std::uint64_t captured = 0;   // by credit, and not outlived
  Moments first_sight;          // captures at first sight, as of the last allocation
  std::uint64_t outlived = 0;   // by credit, as of the last allocation
  double captured_ns = 0.0;     // of the captures by credit
  std::uint64_t target = 0;     // as of the last allocation
  std::uint64_t release = 0;    // captures that may be had until the next allocation, <= target
  std::size_t line = 0;         // launches predicted to fall into the cluster are offered to it
  Source source;                // as of the last cut or allocation
  bool given_up = false;        // it has no capture, and one would cost more than it is worth
  bool closed = false;
  // What had been captured when a capture beyond the target was last charged for: it is charged
  // once, however long it is in flight.
  std::uint64_t supplemented_at = ~std::uint64_t{0};

  // Random captures that stand for the cluster: outlived ones only if there are no others.
  std::uint64_t standing() const { return captured > 0 ? captured : outlived; }
};

// A captured launch. What was recorded and its context are for captures that are made for real.
struct CapturedLaunch {
  PlanSample sample;
  std::uint64_t recorded_ns = 0;
  std::uint32_t captured = 0;  // its number in NativeTimes
  // The sketch bin that says which cluster it belongs to: that of its duration or, where it was
  // captured for real, of the mean of its context.
  std::uint32_t bin = 0;
};

// A capture by credit, and the launches observed of its kernel when it came back.
struct Capture {
  CapturedLaunch launch;
  std::uint64_t launches = 0;
  // It was early, and its cluster has drifted since. It then stands for its cluster only if there is
  // no other capture.
  bool outlived = false;
};

// CreditLine is the account of one gate slot. Every launch of a kernel is offered to one line: the
// line of the cluster that its context predicts, or the common line if no context predicts it, or the
// predictions of that cluster tell too little. Which launches of a line are captured is a random draw
// and does not depend on their durations.
struct CreditLine {
  std::uint32_t slot = 0;
  double offered = 0.0;        // launches up to the last allocation
  std::uint32_t returned = 0;  // captures that came back
  std::uint32_t lost = 0;      // captures given up: their records have not come back
  // Launches observed, and captures come back, when captures were last seen to be in flight; 0: none
  // are.
  std::uint64_t waiting_since = 0;
  std::uint32_t returned_then = 0;
};

class KernelState {
 public:
  // All launches of the name, or those of one configuration where `config` is given. `perturbed`:
  // captures are made for real, and launches come flagged.
  KernelState(std::uint32_t name_id, std::uint64_t name_hash, const shm::LaunchConfig* config,
              bool perturbed = false)
      : name_id_(name_id),
        name_key_(shm::NameKey(name_hash)),
        root_key_(config == nullptr ? name_key_ : shm::ConfigKey(name_hash, *config)),
        config_(config == nullptr ? shm::LaunchConfig{} : *config),
        contexts_(root_key_),
        times_(perturbed ? std::make_unique<NativeTimes>() : nullptr) {}

  // Counts the launches batch[at] for each `at` of `order`, in that order.
  void Observe(std::span<const Observation> batch, std::span<const std::uint32_t> order);

  // Notes a capture by credit, already counted by Observe.
  void AddCaptured(const CapturedLaunch& captured);

  // The cells of the launches in the sketch, and the bin of each. Kept until the next call.
  void UpdateCells();
  KernelCells& cells() { return cells_; }

  // What the cells hold from each of `first_cells` (positions in cells(), ascending, the first 0) up
  // to the next.
  std::vector<Moments> StrataFrom(std::span<const std::size_t> first_cells) const;
  // Where the clusters begin. Of clusters that hold no cell any more there is none.
  std::vector<std::size_t> CurrentFirstCells() const;

  // Makes the clusters begin at `first_cells`, their moments and captures up to date with cells().
  // `anew`: these are other clusters than before, not the same with more launches.
  void SetCut(std::span<const std::size_t> first_cells, bool anew);

  // Index of the cluster that holds `bin`.
  std::size_t ClusterOf(std::uint32_t bin) const {
    if (cluster_of_bin_.empty() || bin < first_cut_bin_) return 0;
    const std::size_t at = bin - first_cut_bin_;
    return at < cluster_of_bin_.size() ? cluster_of_bin_[at] : cluster_of_bin_.back();
  }

  // The stored captures: those paid by credit, and those at first sight, one per process that met
  // the name before the gate knew it.
  const std::vector<Capture>& captures() const { return captures_; }
  const std::vector<CapturedLaunch>& explored() const { return explored_; }

  std::uint32_t name_id() const { return name_id_; }
  std::uint64_t name_key() const { return name_key_; }
  // The most general context that holds all launches of the kernel and no others.
  std::uint64_t root_key() const { return root_key_; }
  const shm::LaunchConfig& config() const { return config_; }
  std::uint64_t last_occurrence() const { return last_occurrence_; }
  // All launches whose duration is native, but those set aside.
  const LogSketch& sketch() const { return sketch_; }
  // All launches, and their time. What is imputed is as of the last UpdateCells.
  std::uint64_t launches() const { return counted() + explored_.size(); }
  std::uint64_t duration_ns() const {
    return static_cast<std::uint64_t>(sketch_.total_duration()) + counted_imputed_ns() +
           explored_ns_;
  }
  // Launches that count with a duration that is not their own, and the time that they count with.
  std::uint64_t imputed() const {
    return times_ == nullptr ? 0 : times_->perturbed() + explored_.size();
  }
  std::uint64_t imputed_ns() const {
    return times_ == nullptr ? 0 : counted_imputed_ns() + explored_ns_;
  }
  // No launch of the kernel was seen natively.
  bool native_unknown() const { return imputed() != 0 && sketch_.count() == 0; }
  std::uint64_t explored_ns() const { return explored_ns_; }
  std::uint64_t zero_duration() const { return zero_duration_; }
  // All launches whose start is known, with the durations that were recorded.
  const TimeSlices& slices() const { return slices_; }
  std::vector<OnlineCluster>& clusters() { return clusters_; }
  const std::vector<OnlineCluster>& clusters() const { return clusters_; }
  ContextPredictor& contexts() { return contexts_; }
  // The common line, then a line for each cluster, by ordinal.
  std::vector<CreditLine>& credit_lines() { return credit_lines_; }
  static constexpr std::size_t kCommonLine = 0;
  // The line that launches predicted to fall into the cluster are offered to.
  std::size_t LineOf(std::size_t cluster) const { return clusters_[cluster].line; }

  // Captures seen by Observe and not yet settled with the gate.
  std::vector<CapturedLaunch>& unsettled() { return unsettled_; }
  // Whether every context must be published anew: clusters were cut, or got a slot.
  bool recut() const { return recut_; }
  void MarkRecut() { recut_ = true; }
  void ClearRecut() { recut_ = false; }
  // Whether the gate knows the name, where that is not the root.
  bool announced() const { return announced_; }
  void SetAnnounced() { announced_ = true; }
  // Whether samples have been allocated to the clusters.
  bool allocated() const { return allocated_; }
  void SetAllocated() { allocated_ = !clusters_.empty(); }
  // Whether there are launches that the cells do not hold.
  bool stale() const { return cells_at_ != counted(); }

 private:
  // A capture is early when its kernel has been launched this many times as often as when it was made:
  // a capture that is made again costs at most one capture per eightfold growth.
  static constexpr std::uint64_t kEarly = 8;
  // It is outlived if the launches of its cluster up to then were longer or shorter on average than
  // those since by more than this share, ...
  static constexpr double kDrift = 0.02;
  // ... and by more than this many standard errors. Less is chance: where nothing drifted, the first
  // rule alone gave up most early captures of wide clusters, and the captured time was 1.7 times as
  // high.
  static constexpr double kSureDrift = 3.0;

  // A line is a source of a cluster only if it is offered at least this share of the cluster's
  // launches: a context that does not come back predicts well, and yields nothing.
  static constexpr double kMinSupply = 0.125;

  // A cluster has a line of its own only if its predictions are wrong at most this many times as
  // often as a guess. Lines of contexts that agree by chance split the launches of a kernel into
  // lines too short to get captures from: thousands of clusters stayed empty.
  static constexpr double kMostWrong = 0.5;

  std::size_t CellOf(std::uint32_t bin) const;
  // Marks the early captures of clusters that have drifted as outlived.
  void MarkOutlived();
  // All launches but those set aside.
  std::uint64_t counted() const {
    return sketch_.count() + (times_ == nullptr ? 0 : times_->perturbed());
  }
  std::uint64_t counted_imputed_ns() const { return times_ == nullptr ? 0 : times_->imputed_ns(); }
  void ObservePerturbed(const Observation& seen);
  // Sets the line of each cluster.
  void SetLines();
  // Sets the line and the source of each cluster.
  void SetSources();
  // Its duration, as of now: the mean of its group, or, where it is set aside, of its like.
  void Impute(CapturedLaunch& launch, bool explored) const;

  std::uint32_t name_id_;
  std::uint64_t name_key_;
  std::uint64_t root_key_;
  shm::LaunchConfig config_;
  LogSketch sketch_;
  TimeSlices slices_;
  std::uint64_t explored_ns_ = 0;
  std::uint64_t zero_duration_ = 0;
  std::uint64_t last_occurrence_ = 0;
  KernelCells cells_;
  std::vector<std::uint32_t> cell_bins_;
  std::uint64_t cells_at_ = 0;  // launches at the last UpdateCells
  bool recut_ = false;
  bool announced_ = false;
  bool allocated_ = false;
  std::vector<OnlineCluster> clusters_;
  // The last cut as a table, because every launch asks: cluster of bin first_cut_bin_ + i.
  std::vector<std::uint16_t> cluster_of_bin_;
  std::uint32_t first_cut_bin_ = 0;
  ContextPredictor contexts_;
  PredictionRecord predictions_;
  std::unique_ptr<NativeTimes> times_;  // null: all durations are native
  std::vector<CreditLine> credit_lines_;
  std::vector<Capture> captures_;
  std::vector<LogSketch> earlier_;  // the sketch at the latest doublings of launches, oldest first
  std::vector<CapturedLaunch> explored_;
  std::vector<CapturedLaunch> unsettled_;
};

}  // namespace stemtap
