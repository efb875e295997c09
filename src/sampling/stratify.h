// SPDX-License-Identifier: Apache-2.0
//
// Stratify divides one kernel's durations into strata (clusters). Each stratum is an interval of
// the sorted durations.
//
//   kRoot  STEM+ROOT: splits by 2-means while sampling the halves costs no more than sampling the
//          whole: tau_new = sum m_i mu_i <= tau_old = m mu.
//   kStem  STEM-only: splits by 2-means while a cluster needs more than 50 samples; at least 30
//          samples per cluster.
//
// SOURCE: STEM+ROOT (MICRO 2025) section 4; Allegro (2024); docs/math/root.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/allocation.h"
#include "stats/moments.h"

namespace stemtap::sampling {

enum class Method { kOptimal, kRoot, kStem };

struct MethodSpec {
  Method method;
  const char* name;
  const char* help;
};
inline constexpr MethodSpec kMethods[] = {
    {Method::kOptimal, "optimal",
     "the least time to sample: cuts and sizes of all kernels together"},
    {Method::kRoot, "root", "STEM+ROOT: split while sampling the parts is cheaper than the whole"},
    {Method::kStem, "stem", "STEM-only: split while a cluster wants more than 50 samples, 30 each"},
};

// StratumRange is an interval of cells and the moments of their durations.
struct StratumRange {
  std::size_t first = 0;  // cells [first, end)
  std::size_t end = 0;
  stats::Moments moments;
  // The sample size from the recursion. For kRoot, the allocation over all kernels replaces it; for
  // kStem, it is final except for the minimum size.
  std::uint64_t sample_size = 1;
  // The second of two samples shows the spread of other metrics (spread_pairs.h).
  bool is_pair = false;
};

// Returns the strata of `cells` in ascending order; none if there are no cells. Does not support
// kOptimal, which cuts all kernels together (workload_strata.h). Splitting costs O(cells) per
// level. REQUIRES: cells are non-empty and in ascending order of their means; method is kRoot or
// kStem.
std::vector<StratumRange> Stratify(Method method, std::span<const stats::Moments> cells,
                                   const ErrorTarget& target);

}  // namespace stemtap::sampling
