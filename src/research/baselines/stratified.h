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

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "research/baselines/method.h"
#include "sampling/selection.h"

namespace stemtap::research {

// SizedCluster is a cluster of launches and the number of launches to draw from it.
struct SizedCluster {
  std::size_t begin = 0;  // [begin, end) of the order of MakeStratified
  std::size_t end = 0;
  std::uint64_t size = 0;
};

// Draws `size` launches of each cluster of a profile of `launches` launches, with the weight
// count / size. `order` contains the launches of each cluster in the order that DrawRanks requires.
std::unique_ptr<PreparedMethod> MakeStratified(sampling::Selection selection, std::size_t launches,
                                               std::vector<std::uint64_t> order,
                                               std::vector<SizedCluster> clusters, double bound);

Result<std::unique_ptr<PreparedMethod>> PrepareOptimal(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareRoot(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareStem(const MethodInput& input);
Result<std::unique_ptr<PreparedMethod>> PrepareAllegro(const MethodInput& input);

}  // namespace stemtap::research
