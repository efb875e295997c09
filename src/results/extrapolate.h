// SPDX-License-Identifier: Apache-2.0
//
// Totals of a metric over a run from its values on the samples, with confidence intervals.
//
//   plain        sum_h N_h / n_h * sum y                              unbiased
//   calibrated   sum_h N_h / n_h * (mu_h / mean sampled d) * sum y    the ratio estimator
//
// n_h counts the samples that have a result, so that missing ones are corrected for within their
// cluster; a cluster without any is left out, and its share of native time stated (uncovered).
//
// The interval is Student's t times the standard error, which is estimated from the differences
// within clusters; clusters with a single sample borrow the spread of their neighbours. It lies
// around the total less its estimated bias, and reaches further on the side where skewed values leave
// more open: its two ends differ. It describes a random sample of each cluster and cannot know what
// no sample shows.
//
// UNITS: durations in ns, values in the metric's own. SOURCE: docs/maths/extrapolate.md, which has
// the measured coverage.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "results/kernel_results.h"
#include "results/match.h"
#include "stem/weights.h"
#include "trace/plan.h"

namespace stemtap {

// How many degrees of freedom the spread of all kernels lends each kernel's own. Chosen by measured
// coverage (docs/maths/extrapolate.md).
inline constexpr double kPriorDegrees = 1.0;

struct Observation {
  double duration_ns = 0.0;  // native
  double value = 0.0;
};

struct ObservedCluster {
  std::size_t kernel = 0;  // clusters of a kernel stand together, ascending by duration
  double count = 0.0;
  double mean_ns = 0.0;
  double stddev_ns = 0.0;  // population
  std::vector<Observation> seen;
};

struct Estimate {
  double value = 0.0;
  double half_width = 0.0;  // the longer side of the interval around it; NaN: none can be given
  double lower = 0.0;       // its ends: lower <= value <= upper
  double upper = 0.0;
  double degrees = 0.0;  // of freedom; +inf where no spread had to be estimated
};

// Total over the clusters that were seen. REQUIRES: 0 < confidence < 1.
Estimate EstimateTotal(std::span<const ObservedCluster> clusters, Weights weights,
                       double confidence, double prior_degrees = kPriorDegrees);

// Ratio of two totals, by the delta method. REQUIRES: the same clusters and samples in both. NaN for
// a denominator of 0.
Estimate EstimateRatio(std::span<const ObservedCluster> numerator,
                       std::span<const ObservedCluster> denominator, Weights weights,
                       double confidence, double prior_degrees = kPriorDegrees);

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
};

struct Extrapolation {
  std::vector<MetricEstimate> metrics;
  double uncovered_fraction = 0.0;  // of native time: clusters without any result
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
