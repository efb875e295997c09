// SPDX-License-Identifier: Apache-2.0
//
// Principal components of weighted rows: columns are standardised (mean 0, population standard
// deviation 1; a constant column becomes 0), and the rows are turned onto the axes along which they
// vary most, as many as it takes to keep a share of the variance.
//
// SOURCE: PKA (MICRO 2021) section 3.1; docs/math/baselines.md.
#pragma once

#include <cstddef>
#include <vector>

#include "research/baselines/distinct_rows.h"

namespace stemtap {

struct Scores {
  std::size_t columns = 0;     // components kept, by falling variance; 0 when no column varies
  std::vector<double> values;  // row-major, one row per distinct row
};

// Keeps the fewest components whose variances sum to at least `share` of all. REQUIRES: 0 < share
// <= 1.
Scores PrincipalComponents(const DistinctRows& rows, double share);

}  // namespace stemtap
