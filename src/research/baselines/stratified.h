// SPDX-License-Identifier: Apache-2.0
//
// Methods that sample by duration only: each kernel group's durations are divided into strata, each
// stratum gets a sample size, and that many of its launches are drawn by options.selection.
//
//   optimal   strata and sizes of all kernels are solved together
//   root      STEM+ROOT
//   stem      STEM-only
//   allegro   STEM-only over groups by (name, grid, block), regardless of the input's grouping
//
// Durations are divided on the bins of a LogSketch (0.8 to 1.6 % wide), as in a stream, so the cost
// of the division depends on the number of bins, not of launches. The moments of a stratum are
// still exact.
//
// THREADS, UNITS: method.h.  SOURCE: STEM+ROOT (MICRO 2025); Allegro (2024);
// docs/math/baselines.md.
#pragma once

#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap::research {

Result<std::unique_ptr<PreparedMethod>> PrepareOptimal(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareRoot(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareStem(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareAllegro(const MethodInput& input);

}  // namespace stemtap::research
