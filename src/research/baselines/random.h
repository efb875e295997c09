// SPDX-License-Identifier: Apache-2.0
//
// Uniform random sampling: every launch is sampled independently with probability p and weight 1/p.
// It is the baseline that every other method has to beat.
//
//   E[sampled time] = p T*, so p is the share of time that is sampled and 1/p the mean speedup
//
// The number of samples is itself random, so the estimate has an error even if all durations are
// equal: relative error about 1 / sqrt(p N). A sample may be empty; its estimate is 0. The method
// states no bound.
//
// SOURCE: docs/math/baselines.md.
#pragma once

#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap::research {

// 0.1 %, a speedup of 1,000: the rate that STEM+ROOT (MICRO 2025) uses for random sampling on its
// large workloads. A larger share is not cheap; a smaller one leaves almost no samples of 10,000
// launches.
inline constexpr double kRandomSampledShare = 0.001;

// Uses p = kRandomSampledShare.
Result<std::unique_ptr<PreparedMethod>> PrepareRandom(const MethodInput& input);

// Uses any share in (0, 1].
std::unique_ptr<PreparedMethod> MakeRandom(const MethodInput& input, double sampled_share);

}  // namespace stemtap::research
