// SPDX-License-Identifier: Apache-2.0
//
// The trust report says of a method, over many workloads, how far its answers can be trusted: how
// wrong it is on average and at worst, whether it ranks workloads as the truth does, and whether
// the bounds it states hold.
//
//   speedup    harmonic mean over workloads;  error: arithmetic mean of each workload's mean
//   |error| Pearson    correlation of predicted and true totals over all runs of all workloads
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

namespace stemtap {

struct TrustReport {
  std::string method;
  double error_bound = 0.0;
  std::uint64_t workloads = 0;
  double speedup = 0.0;
  double error = 0.0;
  double max_error = 0.0;  // the largest of any run
  double pearson = 0.0;    // NaN: fewer than two different totals
  double coverage = 0.0;   // share of all runs within their bound; NaN: no bounds
  // Workloads whose coverage is at least the confidence; NaN: no bounds.
  double workloads_covered = 0.0;
  double median_p95_over_bound = 0.0;  // over workloads with a bound above 0; NaN: none
  std::vector<std::pair<std::size_t, double>> s_curve;  // (workload, mean |error|)
};

// One report per method and error bound, in order of first row.
std::vector<TrustReport> MakeTrustReports(const Evaluation& evaluation);

// NaN for fewer than two pairs or no spread. REQUIRES: equally many of both.
double Pearson(std::span<const double> x, std::span<const double> y);

// The mean of the two middle values for an even number; NaN for none.
double Median(std::vector<double> values);

}  // namespace stemtap
