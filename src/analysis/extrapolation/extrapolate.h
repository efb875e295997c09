// SPDX-License-Identifier: Apache-2.0
//
// Extrapolate computes the metrics of a run from the results of a plan's samples: totals, ratios,
// or means over native time, with intervals (estimate.h) and the uncovered time.
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
  double planned = 0.0;       // with the plan's own weights; NaN unless all samples have the metric
  std::uint64_t samples = 0;  // samples that have the metric
  double uncovered_fraction = 0.0;  // share of native time in clusters without a value
  // Share of native time in joined launches of clusters that have a value. The values of joined
  // launches are estimated from other launches, and the interval does not cover the difference.
  double joined_fraction = 0.0;
};

struct Extrapolation {
  std::vector<MetricEstimate> metrics;
  double uncovered_fraction = 0.0;  // share of native time in clusters without results
  double joined_fraction = 0.0;     // share in joined launches of the other clusters
  std::uint64_t uncovered_clusters = 0;
  std::uint64_t clusters = 0;
  // Clusters with several launches but a single result. They use the spread of other clusters.
  std::uint64_t single_clusters = 0;
  // The plan's weights are neither plain nor calibrated, but from another method.
  bool own_weights = false;
};

struct ExtrapolateOptions {
  double confidence = 0.95;
  std::vector<formats::ResultRatio> ratios;  // in addition to the ratios of the source
  std::vector<std::string> metrics;          // only these metrics; empty: all
};

// Error (exit code 2): an option uses a metric that the results do not contain.
Result<Extrapolation> Extrapolate(const model::Plan& plan, const formats::KernelResults& results,
                                  const Match& match, const ExtrapolateOptions& options);

}  // namespace stemtap::analysis
