// SPDX-License-Identifier: Apache-2.0
//
// DesignSample finds the cheapest strata and sizes whose *certified* bound meets the error bound.
// It is slower than StratifyWorkload and is used for finished profiles.
//
// The solvers use the error model of the central limit theorem. For one sample from a skewed
// stratum the true quantile is up to a quarter larger, and for few bounded strata a third smaller.
// DesignSample therefore calls the solver with tighter or looser bounds until the certificate just
// meets the error bound. For kOptimal, it also tries the strata of ROOT with new sizes: if a few
// strata dominate, minimum variance is not always the minimum quantile.
//
// With max_uncovered > 0, kOptimal for the workload's total also chooses whole kernels that get no
// samples: the bound counts their full time, which can cost less than sampling them.
//
// For kOptimal and the workload's total, plans include second samples that show the spread of other
// metrics (spread_pairs.h). Each try is judged with them.
//
// SOURCE: docs/math/certificate.md, docs/math/optimal.md.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "sampling/sampling_options.h"
#include "sampling/workload_strata.h"

namespace stemtap::sampling {

struct SampleDesign {
  // By kernel, ascending, with their sample sizes. A kernel without samples has one stratum of size
  // 0.
  std::vector<std::vector<StratumRange>> kernels;
  std::uint64_t spread_samples = 0;  // samples that AddSpreadPairs added
  double bound = 0.0;                // certified, relative, at options.confidence
  std::vector<double> costs;         // of the samples of each kernel, ns (FixedPerFactor)

  double cost() const { return std::accumulate(costs.begin(), costs.end(), 0.0); }
};

// bound <= options.error_bound, for each kernel if options.bound is kKernel. kRoot and kStem use
// the strata of their papers, and the sizes too if those meet the bound; otherwise sizes for a
// tighter bound. REQUIRES: as for StratifyWorkload.
SampleDesign DesignSample(std::span<const KernelCells> kernels, const SamplingOptions& options,
                          const ParallelFor& parallel = Serially);

}  // namespace stemtap::sampling
