// SPDX-License-Identifier: Apache-2.0
//
// ComparedRun is what `stemtap diff` uses of a run: time and launches of each kernel, and how its
// mean duration varies in the course of the run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "model/finished_session.h"
#include "model/profile.h"

namespace stemtap::analysis {

// LaunchBatch is the launches of one shape in one slice.
struct LaunchBatch {
  std::uint64_t shape = 0;  // hash of grid and block, or 0 if they are not known
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  std::uint32_t slice = 0;
  std::uint64_t drawn_ns = 0;  // duration of one of the launches, each equally likely; 0: not known
};

// LaunchBatches sums the durations of a kernel's launches by shape (grid and block) and by slice
// of the run, and draws a launch of each. Slices are equal numbers of consecutive launches of the
// run, of all kernels.
//
// Durations of consecutive launches are correlated, so the spread of single durations does not
// determine the error of their mean. The spread of the means of long parts of the run does
// (docs/math/diff.md).
//
// Memory: 40 bytes per batch, at most kMaxSlices batches (10 KiB) per shape, and at most one batch
// per launch.  UNITS: ns.  THREADS: none.
class LaunchBatches {
 public:
  // A kernel that runs all the time has launches in 129 to 256 slices, so 32 groups of slices have
  // nearly equal numbers of launches. More slices need more memory per shape.
  static constexpr std::uint32_t kMaxSlices = 256;

  // Adds a launch. `slice` is less than kMaxSlices and does not decrease.
  void Add(std::uint32_t slice, std::uint64_t shape, std::uint64_t duration_ns) {
    if (current_ >= batches_.size() || batches_[current_].shape != shape ||
        batches_[current_].slice != slice) {
      current_ = BatchOf(slice, shape);
    }
    LaunchBatch& batch = batches_[current_];
    ++batch.launches;
    batch.duration_ns += duration_ns;
    if (draws_.Below(batch.launches) == 0) batch.drawn_ns = duration_ns;
  }

  // Makes all slices twice as long.
  void MergeSlices() {
    for (LaunchBatch& batch : batches_) batch.slice /= 2;
    std::sort(batches_.begin(), batches_.end(), [](const LaunchBatch& x, const LaunchBatch& y) {
      return std::tie(x.slice, x.shape) < std::tie(y.slice, y.shape);
    });
    std::size_t kept = 0;
    for (const LaunchBatch batch : batches_) {
      if (kept != 0 && batches_[kept - 1].slice == batch.slice &&
          batches_[kept - 1].shape == batch.shape) {
        LaunchBatch& sum = batches_[kept - 1];
        sum.launches += batch.launches;
        sum.duration_ns += batch.duration_ns;
        if (draws_.Below(sum.launches) < batch.launches) sum.drawn_ns = batch.drawn_ns;
      } else {
        batches_[kept++] = batch;
      }
    }
    batches_.resize(kept);
    last_.clear();
    for (std::size_t i = 0; i < kept; ++i) last_[batches_[i].shape] = i;
  }

  // In the order of slices.
  std::span<const LaunchBatch> batches() const { return batches_; }

 private:
  std::size_t BatchOf(std::uint32_t slice, std::uint64_t shape) {
    const auto [found, added] = last_.try_emplace(shape, batches_.size());
    if (added || batches_[found->second].slice != slice) {
      found->second = batches_.size();
      batches_.push_back({shape, 0, 0, slice});
    }
    return found->second;
  }

  std::vector<LaunchBatch> batches_;
  std::unordered_map<std::uint64_t, std::size_t> last_;  // last batch of each shape
  std::size_t current_ = 0;                              // batch of the last launch
  // The first or a middle launch of a slice would depend on the period of the program.
  Rng draws_{0};
};

// ShapeTotals are the launches of a kernel with one grid and block.
struct ShapeTotals {
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
};
// By a hash of grid and block.
using ShapeTable = std::unordered_map<std::uint64_t, ShapeTotals>;

struct ComparedKernel {
  std::string name;
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  double stddev_ns = 0.0;  // of single launches; used only without batches
  // Error of the mean that the rounding of a profiler can cause: half a step of its clock if the
  // durations vary so little that rounding does not average out; otherwise 0.
  double rounding_ns = 0.0;
  double step_ns = 0.0;  // of the clock of the profiler; 0 if single launches are not known
  // In launch order; empty if the order is not known. The batches of a session do not contain all
  // launches.
  std::vector<LaunchBatch> batches = {};
  ShapeTable shapes = {};  // all launches; empty if the shape of a launch is not known

  double mean_ns() const {
    return launches == 0 ? 0.0 : static_cast<double>(duration_ns) / static_cast<double>(launches);
  }
};

struct ComparedRun {
  std::string source;
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  std::vector<ComparedKernel> kernels = {};  // one per name
  bool is_profile = false;
};

// Reads `reader` to its end. Memory: O(kernels and their shapes), see LaunchBatches.
Result<ComparedRun> ComparedProfile(model::ProfileReader& reader, const std::string& source);

// The batches of a session are the time slices of its overview, which at most 256 kernels have. A
// plan has no batches. Shapes are known for kernels that are separated by launch configuration, and
// for kernels of a session whose launches all have the same one.
// Error: the plan has a pool, whose kernels share one spread.
Result<ComparedRun> ComparedPlan(const model::FinishedSession& run, const std::string& source);

}  // namespace stemtap::analysis
