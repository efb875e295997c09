// SPDX-License-Identifier: Apache-2.0
//
// Allocation divides the samples among strata. It finds the sample sizes with the minimum captured
// time (sum of m_i mu_i) whose joint error is within the bound.
//
//   minimize sum m_i mu_i   subject to   sum b_i / m_i <= c   and   lo_i <= m_i <= N_i
//   without correction:  b_i = N_i^2 sigma_i^2,  c = (eps sum N_i mu_i / z)^2
//   finite population:   b_i = N_i^2 S_i^2,      c = (eps sum N_i mu_i / z)^2 + sum N_i S_i^2
//
// The optimum is m_i = clamp(s sqrt(b_i / mu_i), lo_i, N_i) for a single s. The left side of the
// constraint decreases with s, and its pieces change only where a size reaches a limit. s is
// therefore found exactly among the sorted breakpoints, in O(n log n).
//
// DEVIATION from the paper: the paper prints sqrt(sum a_j b_j); the derivation gives the sum of
// square roots.
// SOURCE: STEM+ROOT (MICRO 2025) Problem 1; docs/math/allocation.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/stratum.h"

namespace stemtap::sampling {

struct ErrorTarget {
  double error_bound = 0.05;     // eps, relative error of the total; > 0
  double z = 1.959963984540054;  // TwoSidedZ(confidence)
};

enum class Population {
  kFinite,    // sampling without replacement: a stratum that is sampled completely has no error
  kInfinite,  // as in the paper: draws from an unlimited population
};

// Returns the real-valued optimum without size limits (the paper's KKT formula). Strata without
// spread get 0.
std::vector<double> AllocateUnboxed(std::span<const Stratum> strata, const ErrorTarget& target);

// Returns the real-valued optimum with min(min_samples, N_i) <= m_i <= N_i. If sampling every
// launch misses the bound (possible only without the correction), each stratum with spread gets its
// count.
std::vector<double> AllocateReal(std::span<const Stratum> strata, const ErrorTarget& target,
                                 Population population, std::uint64_t min_samples = 1);

// Rounds the result of AllocateReal up. The sizes meet the bound and exceed the optimum by at most
// one sample per stratum. An empty stratum gets 0 samples.
std::vector<std::uint64_t> Allocate(std::span<const Stratum> strata, const ErrorTarget& target,
                                    Population population, std::uint64_t min_samples = 1);

}  // namespace stemtap::sampling
