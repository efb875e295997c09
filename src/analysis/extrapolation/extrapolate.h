// SPDX-License-Identifier: Apache-2.0
//
// What the results on a plan's samples say of the run: every metric's total, ratio or mean over
// native time, with intervals (estimate.h), and what was missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/extrapolation/estimate.h"
#include "analysis/extrapolation/match.h"
#include "base/result.h"
#include "formats/results/kernel_results.h"
#include "model/plan.h"

namespace stemtap {

// What is said of one metric.
struct MetricEstimate {
  std::string name;
  std::string unit;
  std::string how;  // "sum", "gpu_sim_insn / gpu_sim_cycle", "mean over native time"
  bool additive = true;
  Estimate plain;
  Estimate calibrated;
  double planned = 0.0;       // by the weights that the plan holds; NaN unless all samples have it
  std::uint64_t samples = 0;  // that have the metric
  double uncovered_fraction = 0.0;  // of native time, in clusters without one
  // Of native time: joined launches of clusters with one. Their values are estimated from other
  // launches, and the interval does not cover the difference.
  double joined_fraction = 0.0;
};

struct Extrapolation {
  std::vector<MetricEstimate> metrics;
  double uncovered_fraction = 0.0;  // of native time: clusters without any result
  double joined_fraction = 0.0;     // of native time: joined launches of the other clusters
  std::uint64_t uncovered_clusters = 0;
  std::uint64_t clusters = 0;
  // Clusters larger than what was sampled of them, with one result alone: their spread is borrowed.
  std::uint64_t single_clusters = 0;
  // The plan's weights are neither plain nor calibrated: those of another method.
  bool own_weights = false;
};

struct ExtrapolateOptions {
  double confidence = 0.95;
  std::vector<ResultRatio> ratios;   // besides those of the source
  std::vector<std::string> metrics;  // only these; empty: all
};

// An error (exit code 2) when an option names a metric that the results lack.
Result<Extrapolation> Extrapolate(const Plan& plan, const KernelResults& results,
                                  const Match& match, const ExtrapolateOptions& options);

}  // namespace stemtap
