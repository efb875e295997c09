// SPDX-License-Identifier: Apache-2.0
//
// The methods that choose by duration alone: each kernel group's durations are cut into strata,
// each stratum gets a sample size, and that many of its invocations are drawn by options.selection.
//
//   optimal   strata and sizes of all kernels solved for together
//   root      STEM+ROOT
//   stem      STEM-only
//   allegro   STEM-only over groups by (name, grid, block), whatever the grouping of the input
//
// Durations are cut on the bins of a LogSketch (0.8 to 1.6 % wide), as in a stream, so that a
// million launches cost what their bins cost; the moments of a stratum are exact all the same.
//
// THREADS, UNITS: method.h.  SOURCE: STEM+ROOT (MICRO 2025); Allegro (2024);
// docs/math/baselines.md.
#pragma once

#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap {

Result<std::unique_ptr<PreparedMethod>> PrepareOptimal(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareRoot(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareStem(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareAllegro(const MethodInput& input);

}  // namespace stemtap
