// SPDX-License-Identifier: Apache-2.0
#include "stem/workload_strata.h"

#include <cstddef>
#include <utility>

#include "stem/certificate.h"
#include "stem/optimal_strata.h"
#include "stem/workload_allocation.h"

namespace stemtap {

KernelCells CellsOf(const LogSketch& sketch, std::vector<std::uint32_t>* bins) {
  KernelCells cells;
  for (std::size_t i = 0; i < sketch.bins().size(); ++i) {
    if (sketch.bins()[i].count == 0) continue;
    const std::uint32_t bin = sketch.first_bin() + static_cast<std::uint32_t>(i);
    cells.push_back(sketch.BinMoments(bin));
    if (bins != nullptr) bins->push_back(bin);
  }
  return cells;
}

WorkloadStrata StratifyWorkload(std::span<const KernelCells> kernels,
                                const SamplingOptions& options, double multiplier,
                                const ParallelFor& parallel) {
  WorkloadStrata result;
  const ErrorTarget target = options.target();
  if (options.method == Method::kOptimal) {
    const ErrorTarget certified = {options.error_bound, CertifiedZ(options.confidence)};
    if (options.bound == BoundScope::kWorkload) {
      OptimalStrata solved = SolveOptimalStrata(kernels, certified, options.min_samples, multiplier,
                                                Effort::kQuick, parallel);
      return {std::move(solved.kernels), solved.multiplier};
    }
    result.kernels.resize(kernels.size());
    parallel(kernels.size(), [&](std::size_t i) {
      OptimalStrata solved = SolveOptimalStrata(kernels.subspan(i, 1), certified,
                                                options.min_samples, 0.0, Effort::kQuick, Serially);
      result.kernels[i] = std::move(solved.kernels.front());
    });
    return result;
  }
  result.kernels.resize(kernels.size());
  parallel(kernels.size(), [&](std::size_t i) {
    result.kernels[i] = Stratify(options.method, kernels[i], target);
  });
  std::vector<Stratum> strata;
  std::vector<std::uint64_t> own_sizes;
  std::vector<KernelStrata> spans;
  for (const std::vector<StratumRange>& kernel : result.kernels) {
    spans.push_back({strata.size(), kernel.size()});
    for (const StratumRange& s : kernel) {
      strata.emplace_back(s.moments);
      own_sizes.push_back(s.sample_size);
    }
  }
  const std::vector<std::uint64_t> sizes = AllocateWorkload(strata, own_sizes, spans, options);
  std::size_t next = 0;
  for (std::vector<StratumRange>& kernel : result.kernels) {
    for (StratumRange& s : kernel) s.sample_size = sizes[next++];
  }
  return result;
}

}  // namespace stemtap
