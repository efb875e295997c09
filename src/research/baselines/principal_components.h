// SPDX-License-Identifier: Apache-2.0
//
// Computes principal components of weighted rows. Columns are standardized (mean 0, population
// standard deviation 1; a constant column becomes 0), and the rows are projected onto the axes of
// largest variance, as many as needed to keep a given share of the variance.
//
// SOURCE: PKA (MICRO 2021) section 3.1; docs/math/baselines.md.
#pragma once

#include <cstddef>
#include <vector>

#include "research/baselines/distinct_rows.h"

namespace stemtap::research {

struct Scores {
  std::size_t columns = 0;     // components kept, by descending variance; 0 if no column varies
  std::vector<double> values;  // row-major, one row per distinct row
};

// Keeps the fewest components whose variances sum to at least `share` of the total.
// REQUIRES: 0 < share <= 1.
Scores PrincipalComponents(const DistinctRows& rows, double share);

}  // namespace stemtap::research
