// SPDX-License-Identifier: Apache-2.0
//
// Allocation divides the samples among strata: the cheapest sample sizes (sum of m_i mu_i, the time
// that a tracer spends) whose joint error stays within the bound.
//
//   minimise sum m_i mu_i   subject to   sum b_i / m_i <= c   and   lo_i <= m_i <= N_i
//   without correction:  b_i = N_i^2 sigma_i^2,  c = (eps sum N_i mu_i / z)^2
//   finite population:   b_i = N_i^2 S_i^2,      c = (eps sum N_i mu_i / z)^2 + sum N_i S_i^2
//
// The optimum is m_i = clamp(s sqrt(b_i / mu_i), lo_i, N_i) for one s; the budget is a decreasing
// function of s whose pieces change only where a clamp begins or ends, so s is found exactly among the
// sorted break points in O(n log n).
//
// DEVIATION from the paper: it prints sqrt(sum a_j b_j); the derivation gives the sum of square roots.
// SOURCE: STEM+ROOT (MICRO 2025) Problem 1; docs/math/allocation.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/stratum.h"

namespace stemtap {

struct ErrorTarget {
  double error_bound = 0.05;     // eps, relative error of the total, > 0
  double z = 1.959963984540054;  // TwoSidedZ(confidence)
};

enum class Population {
  kFinite,    // sampling without replacement: a stratum taken whole has no error
  kInfinite,  // the paper's: every draw as if from an unlimited supply
};

// The real-valued optimum without boxes (the paper's KKT formula); 0 for strata without spread.
std::vector<double> AllocateUnboxed(std::span<const Stratum> strata, const ErrorTarget& target);

// The real-valued optimum with boxes min(min_samples, N_i) <= m_i <= N_i. If even taking everything
// misses the bound (only without the correction), every size is its count.
std::vector<double> AllocateReal(std::span<const Stratum> strata, const ErrorTarget& target,
                                 Population population, std::uint64_t min_samples = 1);

// AllocateReal rounded up: meets the bound, costs at most one sample more per stratum. An empty
// stratum gets 0 samples.
std::vector<std::uint64_t> Allocate(std::span<const Stratum> strata, const ErrorTarget& target,
                                    Population population, std::uint64_t min_samples = 1);

}  // namespace stemtap
