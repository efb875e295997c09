// SPDX-License-Identifier: Apache-2.0
//
// Stratum is a cluster in the error model: its number of launches, their mean, and their variance.
// SOURCE: docs/math/symbols.md (N_i, mu_i, sigma_i).
#pragma once

#include <cstdint>

#include "stats/moments.h"

namespace stemtap::sampling {

struct Stratum {
  std::uint64_t count = 0;  // N_i
  double mean = 0.0;        // mu_i, ns
  double variance = 0.0;    // sigma_i^2, population variance, ns^2

  Stratum() = default;
  Stratum(std::uint64_t n, double mu, double sigma_squared)
      : count(n), mean(mu), variance(sigma_squared) {}
  explicit Stratum(const stats::Moments& m) : Stratum(m.count(), m.mean(), m.variance()) {}

  double sum() const { return static_cast<double>(count) * mean; }
  // S_i^2 = sigma_i^2 N/(N-1), the variance under sampling without replacement; 0 for N < 2.
  double sample_variance() const {
    return count < 2 ? 0.0
                     : variance * (static_cast<double>(count) / static_cast<double>(count - 1));
  }
};

}  // namespace stemtap::sampling
