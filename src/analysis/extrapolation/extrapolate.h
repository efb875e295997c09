// SPDX-License-Identifier: Apache-2.0
//
// Extrapolate computes the metrics of a run from the results of a plan's samples: totals, ratios,
// or means over native time, with intervals (estimate.h) and the uncovered time. The same is
// available for each kernel or range.
//
// UNITS: durations in ns, values in the metric's own unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/extrapolation/estimate.h"
#include "analysis/extrapolation/match.h"
#include "base/result.h"
#include "formats/results/kernel_results.h"
#include "model/plan.h"

namespace stemtap::analysis {

// MetricEstimate is the estimate of one metric.
struct MetricEstimate {
  std::string name;
  std::string unit;
  std::string how;  // "sum", "gpu_sim_insn / gpu_sim_cycle", "mean over native time"
  bool additive = true;
  Estimate plain;
  Estimate calibrated;
  // Calibrated total per launch and per second of native time, in covered clusters. Additive
  // metrics only.
  Estimate per_launch;
  Estimate per_second;
  double planned = 0.0;       // with the plan's own weights; NaN unless all samples have the metric
  std::uint64_t samples = 0;  // samples that have the metric
  double uncovered_fraction = 0.0;  // share of native time in clusters without a value
  // Share of native time in joined launches of clusters that have a value. The values of joined
  // launches are estimated from other launches, and the interval does not cover the difference.
  double joined_fraction = 0.0;
};

// Parts of the run that are estimated in addition to the whole run.
enum class GroupBy { kNone, kKernel, kRange };

// Returns "kernel" or "range".
constexpr const char* NameOf(GroupBy by) {
  return by == GroupBy::kRange ? "range" : "kernel";
}

// MetricGroup contains the estimates for one kernel or one range.
struct MetricGroup {
  std::string name;           // kernel, or names of the open ranges; empty: no open range
  double launches = 0.0;      // of a kernel: exact; of a range: estimated with plain weights
  double native_ns = 0.0;     // of a kernel: exact; of a range: estimated with calibrated weights
  std::uint64_t samples = 0;  // samples with a result
  // Share of the kernel's native time in clusters without results. NaN for a range: the ranges of
  // uncovered launches are unknown.
  double uncovered_fraction = 0.0;
  bool uncovered_by_choice = false;     // see model::PlanKernel
  std::vector<MetricEstimate> metrics;  // in the order of Extrapolation::metrics
};

struct Extrapolation {
  std::vector<MetricEstimate> metrics;
  double uncovered_fraction = 0.0;  // share of native time in clusters without results
  double joined_fraction = 0.0;     // share in joined launches of the other clusters
  std::uint64_t uncovered_clusters = 0;
  std::uint64_t clusters = 0;
  // Clusters with several launches but a single result. They use the spread of other clusters.
  std::uint64_t single_clusters = 0;
  // Kernels in the order of the plan, ranges by name. Kernels without results are included.
  std::vector<MetricGroup> groups;
  // The plan's weights are neither plain nor calibrated, but from another method.
  bool own_weights = false;
};

struct ExtrapolateOptions {
  double confidence = 0.95;
  std::vector<formats::ResultRatio> ratios;  // in addition to the ratios of the source
  std::vector<std::string> metrics;          // only these metrics; empty: all
  GroupBy by = GroupBy::kNone;
};

// Error (exit code 2): an option uses a metric that the results do not contain.
Result<Extrapolation> Extrapolate(const model::Plan& plan, const formats::KernelResults& results,
                                  const Match& match, const ExtrapolateOptions& options);

}  // namespace stemtap::analysis
