// SPDX-License-Identifier: Apache-2.0
//
// StratifyWorkload computes, from the durations of all kernels, how each kernel is cut into strata
// and how many launches of each stratum to sample.
//
//   kOptimal    solves for the cuts and sizes of all kernels together (optimal_strata.h), with the
//               z of the certificate, so that the certified bound is close to the requested one
//   kRoot       cuts each kernel separately and allocates sizes over all kernels (or per kernel)
//   kStem       cuts each kernel separately; each stratum keeps its own size
//
// SOURCE: docs/math/optimal.md, root.md, allocation.md.
#pragma once

#include <span>
#include <vector>

#include "base/parallel.h"
#include "sampling/optimal_strata.h"
#include "sampling/sampling_options.h"
#include "sampling/stratify.h"
#include "stats/log_sketch.h"
#include "stats/moments.h"

namespace stemtap::sampling {

struct WorkloadStrata {
  // By kernel, ascending; sample_size is final. Empty for a kernel without cells.
  std::vector<std::vector<StratumRange>> kernels;
  // For kOptimal: the price at which the search ended. Passing it to the next call shortens that
  // search.
  double multiplier = 0.0;
};

// KernelCells contains the cells of one kernel in ascending order of their means. A cell is
// non-empty: one duration, one sketch bin, or the launches of one context.
using KernelCells = std::vector<stats::Moments>;

// Returns a view of each kernel's cells, which must outlive it.
inline std::vector<CellsView> ViewsOf(std::span<const KernelCells> kernels) {
  return {kernels.begin(), kernels.end()};
}

// Returns the non-empty bins of `sketch` as cells. If `bins` is not null, appends the bin of each
// cell to it.
KernelCells CellsOf(const stats::LogSketch& sketch, std::vector<std::uint32_t>* bins = nullptr);

// Sets the sizes of given strata by the rule of options.method for options.error_bound.
// REQUIRES: method is kRoot or kStem.
void SizeStrata(std::span<std::vector<StratumRange>> kernels, const SamplingOptions& options);

// `multiplier` is the multiplier of an earlier result for similar kernels, or 0. The result does
// not depend on how `parallel` schedules its tasks.
WorkloadStrata StratifyWorkload(std::span<const CellsView> kernels, const SamplingOptions& options,
                                double multiplier = 0.0, const ParallelFor& parallel = Serially);

}  // namespace stemtap::sampling
