// SPDX-License-Identifier: Apache-2.0
//
// Uniform random sampling: every invocation on its own chance p, weight 1/p. What costs no thought,
// and what every other method has to beat.
//
//   E[sampled time] = p T*, so p is the share of the time that is sampled and 1/p the mean speedup
//
// The number of samples is itself random, so that the estimate errs even where all durations are
// equal: relative error about 1 / sqrt(p N). A sample may be empty; its estimate is 0. No bound is
// stated.
//
// SOURCE: docs/math/baselines.md.
#pragma once

#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap {

// 0.1 %, a speedup of 1,000: the rate at which STEM+ROOT (MICRO 2025) shows random sampling on its
// large workloads. Larger would not be the cheap method; smaller leaves nothing of 10,000 launches.
inline constexpr double kRandomSampledShare = 0.001;

// p = kRandomSampledShare.
Result<std::unique_ptr<PreparedMethod>> PrepareRandom(const MethodInput& input);

// The same with any share in (0, 1].
std::unique_ptr<PreparedMethod> MakeRandom(const MethodInput& input, double sampled_share);

}  // namespace stemtap
