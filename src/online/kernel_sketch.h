// SPDX-License-Identifier: Apache-2.0
//
// KernelSketch contains the durations of one kernel's launches except exploratory captures. Memory
// is O(bins + contexts), independent of the number of launches.
//
// If captures perturb launches, the recorded durations of perturbed launches are not part of the
// sketch. Such launches are imputed with their context's mean, and NativeTimes provides the cells.
//
// Observation and Capture are what the online sampler knows of one launch.
//
// THREADS: none.  UNITS: ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/plan.h"
#include "online/native_times.h"
#include "sampling/design.h"
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

// LaunchPlace is where a launch is among the launches of its kernel in the sketch.
struct LaunchPlace {
  std::uint64_t position = 0;  // 1-based
  // The bins of its cluster when it was captured, and the launches in them so far.
  std::uint32_t first_bin = 0;
  std::uint32_t end_bin = 0;
  std::uint64_t in_cluster = 0;
};

// Capture is one capture. `recorded_ns` and `captured` are used only if captures perturb
// launches.
struct Capture {
  model::PlanSample sample;
  std::uint64_t recorded_ns = 0;
  std::uint32_t captured = 0;  // id in NativeTimes
  // The sketch bin that determines the cluster: the bin of the duration or, if captures perturb
  // launches, of the mean of the launch's group.
  std::uint32_t bin = 0;
  LaunchPlace place = {};  // for KernelPeriods; not used for exploratory captures

  bool explored() const { return (sample.record.flags & shm::kFlagExploratory) != 0; }
};

// BinnedCells is the cells of a kernel and the sketch bin of each, strictly ascending.
struct BinnedCells {
  sampling::KernelCells moments;
  std::vector<std::uint32_t> bins;
};

// Returns the cells as a sketch, which can be merged with other ones. Each cell is in the bin of
// its mean, with its launches and their variance: there, a bin also contains launches whose
// durations are outside of it.
stats::LogSketch SketchOfCells(const BinnedCells& cells);

class KernelSketch {
 public:
  // `perturbed`: captures perturb launches, and perturbed launches have shm::kFlagPerturbed.
  explicit KernelSketch(bool perturbed) {
    if (perturbed) native_.emplace();
  }

  // Adds a launch, captured or not, to the time slices, to the launch configuration and to the
  // launches without a duration.
  void Count(const shm::KernelRecord& record) {
    CountConfig(record);
    slices_.Add(record.start_ns, record.duration_ns);  // ignored if the start is unknown
    zero_duration_ += record.duration_ns == 0;
  }
  bool IsPerturbed(const shm::KernelRecord& record) const {
    return native_ && (record.flags & shm::kFlagPerturbed) != 0;
  }
  // Adds the duration of a launch that is not perturbed. Returns the bin that determines its
  // cluster.
  std::uint32_t AddNative(const Observation& seen) {
    const std::uint32_t bin = durations_.Add(seen.record.duration_ns);
    if (!native_) return bin;
    // The cluster is determined by the context as a whole.
    const std::uint32_t context = native_->ContextOf(seen.history_key, seen.config_key);
    native_->AddNative(context, seen.record.duration_ns);
    return stats::LogSketch::BinOf(native_->MeanOf(context));
  }
  // Add a perturbed launch: one that was not captured, or a capture.
  void AddConcurrent(const Observation& seen) {
    native_->AddConcurrent(native_->ContextOf(seen.history_key, seen.config_key),
                           seen.record.duration_ns);
  }
  Capture AddCaptured(const Observation& seen);
  // Sets the imputed duration and the bin of a perturbed capture. The bin is from the mean of its
  // group as of the last UpdateCells or, if `by_regime`, of its regime.
  void Impute(Capture& launch, bool by_regime) const;

  // Recomputes the cells. They stay valid until the next call.
  void UpdateCells();
  const BinnedCells& cells() const { return cells_; }
  // Whether there are launches that are not in the cells yet.
  bool stale() const { return cells_at_ != launches(); }

  // All launches with a native duration except exploratory captures.
  const stats::LogSketch& durations() const { return durations_; }
  // All launches except exploratory captures, and their time. Imputed durations are as of the last
  // UpdateCells.
  std::uint64_t launches() const { return durations_.count() + imputed(); }
  std::uint64_t duration_ns() const {
    return static_cast<std::uint64_t>(durations_.total_duration()) + imputed_ns();
  }
  bool imputes() const { return native_.has_value(); }
  std::uint64_t imputed() const { return imputes() ? native_->perturbed() : 0; }
  std::uint64_t imputed_ns() const { return imputes() ? native_->imputed_ns() : 0; }
  // All launches with a known start time, with their recorded durations.
  const stats::TimeSlices& slices() const { return slices_; }
  std::uint64_t zero_duration() const { return zero_duration_; }
  // Grid and block of all launches; grid 0 if they differ, or if a launch has none.
  const shm::LaunchConfig& config() const { return config_; }

 private:
  void CountConfig(const shm::KernelRecord& record) {
    if (!has_launches_) {
      has_launches_ = true;
      std::copy_n(record.grid, 3, config_.grid);
      std::copy_n(record.block, 3, config_.block);
    } else if (!std::equal(record.grid, record.grid + 3, config_.grid) ||
               !std::equal(record.block, record.block + 3, config_.block)) {
      config_ = {};  // stays so: only an unknown grid is 0
    }
  }

  stats::LogSketch durations_;
  stats::TimeSlices slices_;
  std::optional<NativeTimes> native_;  // empty if all durations are native
  std::uint64_t zero_duration_ = 0;
  shm::LaunchConfig config_ = {};
  bool has_launches_ = false;
  BinnedCells cells_;
  std::uint64_t cells_at_ = 0;  // launches at the last UpdateCells
};

}  // namespace stemtap::online
