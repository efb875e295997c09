// SPDX-License-Identifier: Apache-2.0
//
// The result of one run of a method (one seed), and statistics over many runs.
//
//   error       signed, relative: (estimate - T*) / T*
//   mean, max   of |error|;  bias: the mean of the signed error
//   p95         the ceil(0.95 R)-th smallest |error| of R runs: at least 95 % of runs are no worse
//   speedup     T* / (mean sampled time): the harmonic mean of the runs' speedups
//   bound       what the design certifies before the error is known. The bound in a plan is never
//               below its observed error, so it covers every run
//   coverage    the share of runs with |error| <= bound
//
// UNITS: errors and bounds as ratios.  SOURCE: docs/evaluation.md; NVArchSim (HPCA 2021).
#pragma once

#include <cstdint>
#include <span>

#include "research/evaluation/evaluated_run.h"

namespace stemtap::research {

// An error that exceeds the bound by at most this much is rounding, not a miss: if everything is
// sampled, both are 0 except for rounding. Sums of 10^8 doubles are exact to about 1e-12 relative;
// practical bounds are above 1e-6.
inline constexpr double kRoundingSlack = 1e-9;

struct RunOutcome {
  double sampled_ns = 0.0;  // time of the samples (online: of all captures)
  std::uint64_t samples = 0;
  std::uint64_t clusters = 0;
  double bound = 0.0;      // certified; NaN if none
  double error = 0.0;      // with plain weights, on the sampled run
  double uncovered = 0.0;  // share of time in clusters without a sample
  // On the second run; if there is none, on the sampled run.
  double against_plain = 0.0;
  double against_calibrated = 0.0;
};

struct ErrorStatistics {
  double mean = 0.0;
  double p95 = 0.0;
  double max = 0.0;
  double bias = 0.0;
};

struct RunStatistics {
  std::uint64_t runs = 0;
  double speedup = 0.0;  // +inf if the samples contain no time
  double sampled_ns = 0.0;
  double samples = 0.0;
  double clusters = 0.0;
  double uncovered = 0.0;
  double bound = 0.0;           // certified, mean; NaN if none
  double coverage = 0.0;        // NaN if there is no bound
  double p95_over_bound = 0.0;  // NaN if there is no bound or the bound is 0
  ErrorStatistics error;
  ErrorStatistics against_plain;
  ErrorStatistics against_calibrated;
};

// Returns the ceil(quantile * n)-th smallest of n values; NaN if empty. REQUIRES: 0 < quantile <=
// 1.
double QuantileByRank(std::span<const double> values, double quantile);

// Returns statistics of signed errors; zeros if empty.
ErrorStatistics StatisticsOf(std::span<const double> errors);

RunStatistics StatisticsOf(std::span<const RunOutcome> runs, double total_ns);

// A sampled launch with its weights, as in sampling/weights.h.
struct JudgedInvocation {
  std::uint64_t index = 0;
  double plain = 0.0;
  double calibrated = 0.0;
};

// Sets sampled_ns, samples and the errors of `outcome` from `sample`.
void Judge(const EvaluatedRun& workload, std::span<const JudgedInvocation> sample,
           RunOutcome& outcome);

}  // namespace stemtap::research
