// SPDX-License-Identifier: Apache-2.0
//
// JoinStrata decides what stands for a stratum that ended without a random capture:
//
//   1. A neighbor that has captures, if the means are close: the stratum joins it. Its launches count
//      with the mean of the neighbor's captures.
//   2. Captures at first sight of the kernel in the stratum itself, if they are close to its mean.
//   3. Nothing: the stratum is uncovered, and its time is missing from the estimate.
//
// All durations are known, so the bias of each choice is known too. It is added to the bound
// linearly, never in quadrature:
//
//   bound = ( z sqrt( sum V ) + | sum of biases | + sum of uncovered time ) / total time
//
// Where a stratum may join the neighbor on either side, the choice is the one that brings the sum of
// biases, uncovered time included, nearest to 0.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online-bound.md, "Empty strata".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/moments.h"

namespace stemtap {

// SampledRange is a stratum and the captures that fell into it.
struct SampledRange {
  Moments launches;           // all launches that captures are drawn from
  std::uint64_t samples = 0;  // random captures
  Moments first_sight;        // captures at first sight; not among `launches`
};

// JointStratum is a run of neighboring strata of one kernel that the same captures stand for.
struct JointStratum {
  std::size_t first = 0;  // strata [first, end)
  std::size_t end = 0;
  std::size_t home = 0;       // the stratum that has the captures; the only one if uncovered
  std::uint64_t samples = 0;  // 0: uncovered
  Moments all;                // of all launches, those of `first_sight` excluded
  Moments sampled;            // of the launches that the samples are drawn from
  double bias_ns = 0.0;       // expected error of the estimate of the sum of `all`
  bool by_first_sight = false;

  bool covered() const { return samples > 0; }
};

// Captures stand for a stratum other than their own only if the means differ by at most this share of
// the stratum's mean. At 1, leaving the stratum uncovered costs the bound as much. Below, other
// metrics of the captures become more like those of the stratum.
inline constexpr double kMaxJoinDifference = 0.5;

// The strata of one kernel (by ascending mean), joined. Every stratum is part of exactly one result;
// results ascend. `bias_ns` is the sum of the biases so far, minus the uncovered time; the kernel's
// part is added to it.
std::vector<JointStratum> JoinStrata(std::span<const SampledRange> strata, double& bias_ns);

// Variance of the estimate of the joint stratum's sum; 0 if it is not covered.
double JointVariance(const JointStratum& joint);

}  // namespace stemtap
