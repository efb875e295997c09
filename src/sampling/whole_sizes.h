// SPDX-License-Identifier: Apache-2.0
//
// Whole sizes for given strata under a budget of variance: the real optimum (allocation.h) rounded
// down, then samples added where they buy most variance per ns, then those taken back that the
// budget can spare, the dearest first. Rounding every size up instead costs up to a sample per
// stratum, which at loose bounds is most of the sample.
//
// SOURCE: docs/math/optimal.md.
#pragma once

#include <span>
#include <vector>

#include "sampling/cut_table.h"

namespace stemtap {

// Sizes go to `sizes`, min(floor, N) <= m <= N; the sum of m x cost is returned, +inf if
// even taking everything misses the budget (rounding alone can do that).
double SizeWhole(std::span<const StratumTerm> terms, double budget, double floor,
                 std::vector<double>& sizes);

}  // namespace stemtap
