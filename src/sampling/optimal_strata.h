// SPDX-License-Identifier: Apache-2.0
//
// SolveOptimalStrata computes the cuts and the sample sizes of all kernels together. It minimizes
// what the samples cost (sum of m_i (mu_i + c) over all strata, CapturePrice) under the variance
// budget
//
//   sum N_i^2 S_i^2 / m_i (1 - m_i / N_i)  <=  (eps sum N_i mu_i / z)^2
//
// A price lambda relaxes the budget: CutTable finds the best strata of each kernel at a price, and
// a search for the price brackets the budget. The solution changes in jumps as the price changes,
// so a gap remains between the two ends of the bracket. Four steps close the gap:
//   - mix the kernels of both ends;
//   - round to integer sizes (SizeWhole);
//   - fix the part where the two ends differ most, in either way, and solve the rest again;
//   - in small problems, run a local search that moves, merges, and splits strata.
//
// GUARANTEE  The result meets the budget. No strata with cuts at cell edges cost less than
// lower_bound (the Lagrangian dual), provided that no kernel has more than CutTable::kMaxCells
// cells.
// SOURCE: docs/math/optimal.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "sampling/strata.h"

namespace stemtap::sampling {

// Effort selects how much time is spent on closing the gap. kQuick: a search for the price and at
// most three decisions, for the online sampler, which solves repeatedly. kThorough: at most twelve
// decisions and the local search, for a plan.
enum class Effort { kQuick, kThorough };

// Returns the cost of a sample in addition to its duration, ns: a thousandth of a mean launch. It
// is enough to prefer fewer samples if the captured time is equal. `total` is the time of all
// `launches`, ns.
inline double SampleOverhead(double total, double launches) {
  return launches > 0.0 ? 1e-3 * total / launches : 0.0;
}

// `fixed_ns` is the cost of a sample besides its duration (CapturePrice::FixedPerFactor).
// `multiplier` is the multiplier of an earlier, similar problem, or 0. It shortens the search and
// changes the result only within the gap.
Design SolveOptimalStrata(std::span<const CellsView> kernels, const ErrorTarget& target,
                          std::uint64_t min_samples, double multiplier, Effort effort,
                          const ParallelFor& parallel, double fixed_ns = 0.0);

}  // namespace stemtap::sampling
