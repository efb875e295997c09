// SPDX-License-Identifier: Apache-2.0
//
// The sample sizes of all strata of all kernels, as the options ask: jointly or per kernel.
// SOURCE: STEM+ROOT (MICRO 2025) Problem 1 and Theorem 1; docs/maths/allocation.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stem/sampling_options.h"
#include "stem/stratum.h"

namespace stemtap {

// The strata of one kernel, a run of the flat list, and the sizes the method chose for them itself.
struct KernelStrata {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Sizes for `strata` (all kernels', in order; `kernels` cuts them into kernels). `own_sizes` are the
// method's own, used by kStem, which allocates each cluster for itself.
std::vector<std::uint64_t> AllocateWorkload(std::span<const Stratum> strata,
                                            std::span<const std::uint64_t> own_sizes,
                                            std::span<const KernelStrata> kernels,
                                            const SamplingOptions& options);

}  // namespace stemtap
