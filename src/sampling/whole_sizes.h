// SPDX-License-Identifier: Apache-2.0
//
// SizeWhole computes integer sample sizes for given strata under a variance budget. It starts from
// the real-valued optimum (allocation.h) rounded down, adds the samples that reduce variance most
// per ns, and then removes samples that the budget does not need, the most expensive first.
// Rounding every size up instead costs up to one sample per stratum, which is most of the sample if
// the bound is loose.
//
// SOURCE: docs/math/optimal.md.
#pragma once

#include <span>
#include <vector>

#include "sampling/cut_table.h"

namespace stemtap::sampling {

// Sets `sizes`, with min(floor, N) <= m <= N, and returns the sum of m x cost. Returns +inf if
// sampling every launch misses the budget, which is possible only through rounding.
double SizeWhole(std::span<const StratumTerm> terms, double budget, double floor,
                 std::vector<double>& sizes);

}  // namespace stemtap::sampling
