// SPDX-License-Identifier: Apache-2.0
//
// OptimalStrata solves for the cuts and the sample sizes of all kernels together: the least sampled
// time (sum of m_i mu_i over all strata) whose variance stays within the budget
//
//   sum N_i^2 S_i^2 / m_i (1 - m_i / N_i)  <=  (eps sum N_i mu_i / z)^2
//
// The budget is relaxed with a price lambda (cut_table.h finds each kernel's best strata at a
// price); the search for the price brackets the budget. Between the two ends of the bracket lies a
// gap, because a solution at a price is all or nothing; it is closed by mixing the kernels of both
// ends, sizing in whole samples (AllocateWhole) and, where the gap is worth it and the problem
// small, by a local search that moves, joins and splits strata.
//
// GUARANTEE  The result meets the budget. Its sampled time is at most `gap` above the true optimum
// over all cuts at cell edges (the Lagrangian dual is a lower bound), as far as no row had to be
// shortened. SOURCE: docs/maths/optimal.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "stem/allocation.h"
#include "stem/stratify.h"

namespace stemtap {

struct OptimalStrata {
  std::vector<std::vector<StratumRange>> kernels;  // by kernel, ascending
  double multiplier = 0.0;                         // lambda at the end of the search
  double lower_bound = 0.0;  // no sample within the budget takes less time than this, ns
};

// `kernels` are rows of cells, non-empty and ascending; a row may be empty. `multiplier` is that of
// an earlier, similar problem (0: none): it makes the search short and changes the result within
// the gap.
OptimalStrata SolveOptimalStrata(std::span<const std::vector<Moments>> kernels,
                                 const ErrorTarget& target, std::uint64_t min_samples,
                                 double multiplier, const ParallelFor& parallel);

}  // namespace stemtap
