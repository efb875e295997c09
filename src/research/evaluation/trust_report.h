// SPDX-License-Identifier: Apache-2.0
//
// TrustReport summarizes how far a method can be trusted over many workloads: its mean and maximum
// error, whether it ranks workloads correctly, and whether its stated bounds hold.
//
//   speedup    harmonic mean over workloads
//   error      arithmetic mean of each workload's mean |error|
//   Pearson    correlation of estimated and recorded totals over all runs of all workloads
//   S-curve    the workloads' mean |error|, ascending
//
// SOURCE: NVArchSim (HPCA 2021); docs/evaluation.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "research/evaluation/evaluation.h"

namespace stemtap::research {

struct TrustReport {
  std::string method;
  double error_bound = 0.0;
  std::uint64_t workloads = 0;
  double speedup = 0.0;
  double error = 0.0;
  double max_error = 0.0;  // maximum over all runs
  double pearson = 0.0;    // NaN: fewer than two distinct totals
  double coverage = 0.0;   // share of all runs within their bound; NaN: no bounds
  // Workloads whose coverage is at least the confidence; NaN: no bounds.
  double workloads_covered = 0.0;
  double median_p95_over_bound = 0.0;  // over workloads with a bound above 0; NaN: none
  std::vector<std::pair<std::size_t, double>> s_curve;  // (workload, mean |error|)
};

// Returns one report per method and error bound, in order of first row.
std::vector<TrustReport> MakeTrustReports(const Evaluation& evaluation);

// Returns NaN for fewer than two pairs or no spread. REQUIRES: x and y have the same size.
double Pearson(std::span<const double> x, std::span<const double> y);

// Returns the mean of the two middle values if their number is even; NaN if empty.
double Median(std::vector<double> values);

}  // namespace stemtap::research
