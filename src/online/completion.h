// SPDX-License-Identifier: Apache-2.0
//
// CompleteSizes computes the cheapest sample sizes when some captures have already been made. Their
// cost is spent, so only the cost of further captures is minimized.
//
//   minimize sum (m_i - had_i) a_i   subject to   sum N_i^2 S_i^2 / m_i (1 - m_i / N_i) <= budget
//                                    and   max(had_i, min(min_i, N_i)) <= m_i <= N_i
//
// a_i is the cost of a capture of stratum i: its mean, or more if captures intended for it hit
// other strata. The optimum is m_i = clamp(s sqrt(N_i^2 S_i^2 / a_i), lo_i, N_i) for a single s, as
// in sizes.h but with other lower limits. For integer sizes, the real sizes are rounded down
// and then increased one sample at a time, where a sample removes the most variance per cost, until
// the budget is met.
//
// THREADS: none.  UNITS: ns; the budget is a variance of the total, ns^2.
// SOURCE: docs/math/online.md, "What is still missing".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/strata.h"

namespace stemtap::online {

// Returns the total sizes, including the captures already made. An empty stratum gets 0. A negative
// budget counts as 0. REQUIRES: as many `costs`, `had`, and `min_sizes` as strata; no
// `min_sizes` is 0.
std::vector<std::uint64_t> CompleteSizes(std::span<const sampling::Stratum> strata,
                                         std::span<const double> costs,
                                         std::span<const std::uint64_t> had,
                                         std::span<const std::uint64_t> min_sizes, double budget);

}  // namespace stemtap::online
