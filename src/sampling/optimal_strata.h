// SPDX-License-Identifier: Apache-2.0
//
// OptimalStrata solves for the cuts and the sample sizes of all kernels together: the least sampled
// time (sum of m_i mu_i over all strata) whose variance stays within the budget
//
//   sum N_i^2 S_i^2 / m_i (1 - m_i / N_i)  <=  (eps sum N_i mu_i / z)^2
//
// The budget is relaxed with a price lambda (cut_table.h finds each kernel's best strata at a
// price); the search for the price brackets the budget. A solution at a price is all or nothing, so
// a gap lies between the two ends of the bracket. It is closed by mixing the kernels of both ends,
// by sizing in whole samples (whole_sizes.h), by deciding either way what holds the ends apart and
// solving the rest again, and, in small problems, by a local search that moves, joins and splits
// strata.
//
// GUARANTEE  The result meets the budget. No strata at cell edges cost less than lower_bound (the
// Lagrangian dual), as far as no row had to be shortened.
// SOURCE: docs/math/optimal.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "sampling/allocation.h"
#include "sampling/stratify.h"

namespace stemtap {

// How much time the gap is worth. kQuick: a search for the price and three decisions, as the online
// sampler needs it, again and again. kThorough: up to twelve decisions and the local search, for a
// plan.
enum class Effort { kQuick, kThorough };

// What a sample costs besides its duration, ns: a thousandth of a mean launch, enough to prefer few
// samples where time is equal. `total` is the time of all `launches`, ns.
inline double SampleOverhead(double total, double launches) {
  return launches > 0.0 ? 1e-3 * total / launches : 0.0;
}

struct OptimalStrata {
  std::vector<std::vector<StratumRange>> kernels;  // by kernel, ascending
  double multiplier = 0.0;                         // lambda at the end of the search
  double cost = 0.0;  // sampled time and overhead (a thousandth of a mean launch per sample), ns
  double lower_bound = 0.0;  // no sample within the budget costs less than this, ns
};

// `kernels` are rows of cells, non-empty and ascending; a row may be empty. `multiplier` is that of
// an earlier, similar problem (0: none): it makes the search short and changes the result within
// the gap.
OptimalStrata SolveOptimalStrata(std::span<const std::vector<Moments>> kernels,
                                 const ErrorTarget& target, std::uint64_t min_samples,
                                 double multiplier, Effort effort, const ParallelFor& parallel);

}  // namespace stemtap
