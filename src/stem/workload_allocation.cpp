// SPDX-License-Identifier: Apache-2.0
#include "stem/workload_allocation.h"

#include <algorithm>

namespace stemtap {

std::vector<std::uint64_t> AllocateWorkload(std::span<const Stratum> strata,
                                            std::span<const std::uint64_t> own_sizes,
                                            std::span<const KernelStrata> kernels,
                                            const SamplingOptions& options) {
  if (options.method == Method::kStem) {
    std::vector<std::uint64_t> sizes(own_sizes.begin(), own_sizes.end());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = std::min(std::max(sizes[i], options.min_samples), strata[i].count);
    }
    return sizes;
  }
  const ErrorTarget target = options.target();
  if (options.bound == BoundScope::kWorkload) {
    return Allocate(strata, target, Population::kFinite, options.min_samples);
  }
  std::vector<std::uint64_t> sizes;
  sizes.reserve(strata.size());
  for (const KernelStrata& kernel : kernels) {
    const auto own = Allocate(strata.subspan(kernel.first, kernel.count), target,
                              Population::kFinite, options.min_samples);
    sizes.insert(sizes.end(), own.begin(), own.end());
  }
  return sizes;
}

}  // namespace stemtap
