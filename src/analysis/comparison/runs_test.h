// SPDX-License-Identifier: Apache-2.0
//
// The exact runs test (Wald and Wolfowitz): whether consecutive values are on the same side of a
// level more often than in random order. SOURCE: docs/math/diff.md.
#pragma once

#include <cstddef>
#include <span>

namespace stemtap::analysis {

// Returns the probability that `above` values above a level and `below` others are in at most
// `runs` runs (of consecutive values on one side) if all orders are equally likely. 1 if one side
// has no values. O(runs). The result is exact up to rounding for up to 1000 values.
double FewRunsP(std::size_t above, std::size_t below, std::size_t runs);

// Returns FewRunsP of the values and `level`. A value that is equal to `level` is not above it.
double FewRunsP(std::span<const double> values, double level);

}  // namespace stemtap::analysis
