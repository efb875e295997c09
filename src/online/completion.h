// SPDX-License-Identifier: Apache-2.0
//
// Completion is the least further sampling when some has been done already: captures that were made
// are paid for, whether or not they would be made again, so only what is missing is minimised.
//
//   minimise sum (m_i - had_i) a_i   subject to   sum N_i^2 S_i^2 / m_i (1 - m_i / N_i) <= budget
//                                     and   max(had_i, min(least_i, N_i)) <= m_i <= N_i
//
// A capture of stratum i costs a_i: its mean, or more where captures meant for it fall elsewhere.
// The optimum is m_i = clamp(s sqrt(N_i^2 S_i^2 / a_i), lo_i, N_i) for one s, as in allocation.h,
// with other lower ends. Whole sizes: the real ones rounded down, then raised one sample at a time
// where that removes most variance for its time, until the budget is met.
//
// THREADS: none.  UNITS: ns; the budget is a variance of the total, ns^2.
// SOURCE: docs/math/online.md, "What is still missing".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/stratum.h"

namespace stemtap {

// Total sizes, those captured included; an empty stratum gets 0. A budget below 0 counts as 0.
// REQUIRES: as many `costs`, `had` and `least` as strata, no `least` of 0.
std::vector<std::uint64_t> CompleteSizes(std::span<const Stratum> strata,
                                         std::span<const double> costs,
                                         std::span<const std::uint64_t> had,
                                         std::span<const std::uint64_t> least, double budget);

}  // namespace stemtap
