// SPDX-License-Identifier: Apache-2.0
//
// Stratify divides one kernel's durations into strata (clusters), each an interval of the sorted
// durations, by one of the methods below.
//
//   kRoot  STEM+ROOT: cut in two by 2-means as long as sampling the halves costs no more than sampling
//          the whole: tau_new = sum m_i mu_i <= tau_old = m mu.
//   kStem  STEM-only: cut in two as long as a cluster wants more than 50 samples, at least 30 each.
//
// SOURCE: STEM+ROOT (MICRO 2025) section 4; Allegro (2024); docs/math/root.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/allocation.h"
#include "stats/moments.h"

namespace stemtap {

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

// An interval of cells and what it holds.
struct StratumRange {
  std::size_t first = 0;  // cells [first, end)
  std::size_t end = 0;
  Moments moments;
  // The size that the recursion arrived at. Allocation over all kernels decides the size in the end
  // (kRoot); kStem keeps this one.
  std::uint64_t sample_size = 1;
};

// The strata of `cells` in ascending order; none for no cells. kOptimal cuts all kernels together
// (workload_strata.h) and is not for this function. Splitting costs O(cells) per level.
// REQUIRES: cells are non-empty and their means ascend; method is kRoot or kStem.
std::vector<StratumRange> Stratify(Method method, std::span<const Moments> cells,
                                   const ErrorTarget& target);

}  // namespace stemtap
