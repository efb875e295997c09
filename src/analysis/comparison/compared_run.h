// SPDX-License-Identifier: Apache-2.0
//
// ComparedRun is what `stemtap diff` uses of a run: time and launches of each kernel, and how its
// mean duration varies in the course of the run.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/comparison/launch_batches.h"
#include "analysis/statistics/sampled_run.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::analysis {

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
// Error: the plan has a pool, whose kernels have no spread of their own.
Result<ComparedRun> ComparedPlan(const SampledRun& run, const std::string& source);

}  // namespace stemtap::analysis
