// SPDX-License-Identifier: Apache-2.0
//
// DensityCuts divides sorted values at the valleys of their kernel density estimate until the
// coefficient of variation of every part is below a threshold.
//
//   density(x) = 1 / (n h) sum_i phi((x - x_i) / h),   h = sd n^(-1/5)
//
// If the coefficient of variation of a part is still too large, the part is divided again by the
// density of its own values; if that has no valley, in two by the best cut of 2-means
// (sampling/strata.h).
//
// SOURCE: Sieve (ISPASS 2023) section III (tier 3); Scott, Multivariate Density Estimation (1992),
// the bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stemtap::research {

// Distinct values in ascending order and how often each occurs.
struct CountedValues {
  std::vector<double> values;
  std::vector<std::uint64_t> counts;
};

// Returns population standard deviation / mean of values [first, end); 0 if the mean is 0.
double CoefficientOfVariation(const CountedValues& v, std::size_t first, std::size_t end);

// Returns the beginnings of the parts: ascending indices into v.values, starting with 0. Every part
// has a coefficient of variation below `threshold`. REQUIRES: values are not negative and not
// empty, threshold > 0.
std::vector<std::size_t> DensityCuts(const CountedValues& v, double threshold);

}  // namespace stemtap::research
