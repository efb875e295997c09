// SPDX-License-Identifier: Apache-2.0
//
// The algorithm of the scripts released with STEM+ROOT (MICRO 2025), as published:
//
//   kernel      the demangled name up to its first parenthesis
//   size        ceil((z sigma / (eps mu))^2) at first; below a split, the joint allocation of Eq. 3
//               over the two halves of the same split, without the finite population correction
//   split       k-means with k = 2; kept if the halves together cost no more than the whole
//   draw        min(size, N) launches, weight N / size
//
// The size of a cluster without variance is 0, unless it is a single launch: nothing of it is
// drawn, and its time is missing from the estimate. PrepareStemAeOne draws one launch of such a
// cluster, which estimates it exactly.
//
// The stated bound is the requested one, which is what the paper derives.
//
// THREADS, UNITS: method.h.  SOURCE: github.com/ejchung0406/STEM-AE,
// figure7/sampling_methods/stem.py; docs/math/baselines.md.
#pragma once

#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap::research {

Result<std::unique_ptr<PreparedMethod>> PrepareStemAe(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareStemAeOne(const MethodInput& input);

}  // namespace stemtap::research
