// SPDX-License-Identifier: Apache-2.0
//
// StratifyWorkload is the whole decision from durations to sample sizes: how each kernel's
// durations are cut into strata, and how many invocations of each stratum are to be sampled, by the
// method and the options.
//
//   kOptimal    cuts and sizes of all kernels are solved for together (optimal_strata.h), with the
//               z of the certificate, so that the certified bound ends near the one asked for
//   kRoot       each kernel is cut on its own, sizes are allocated over all (or per kernel)
//   kStem       each kernel is cut on its own, each stratum keeps its own size
//
// SOURCE: docs/math/optimal.md, root.md, allocation.md.
#pragma once

#include <span>
#include <vector>

#include "base/parallel.h"
#include "sampling/sampling_options.h"
#include "sampling/stratify.h"
#include "stats/log_sketch.h"
#include "stats/moments.h"

namespace stemtap {

struct WorkloadStrata {
  // By kernel, ascending; sample_size is the size to take. None for a kernel without cells.
  std::vector<std::vector<StratumRange>> kernels;
  // kOptimal: where the search ended. Handed in again it makes the next search short.
  double multiplier = 0.0;
};

// The cells of one kernel: non-empty, means ascending; one duration or one sketch bin each.
using KernelCells = std::vector<Moments>;

// The non-empty bins of `sketch` as cells; `bins`, when given, receives the bin of each.
KernelCells CellsOf(const LogSketch& sketch, std::vector<std::uint32_t>* bins = nullptr);

// `multiplier` is that of an earlier result for similar kernels, 0 when there is none. The result
// does not depend on how `parallel` runs its parts.
WorkloadStrata StratifyWorkload(std::span<const KernelCells> kernels,
                                const SamplingOptions& options, double multiplier = 0.0,
                                const ParallelFor& parallel = Serially);

}  // namespace stemtap
