// SPDX-License-Identifier: Apache-2.0
#include "sampling/workload_strata.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sampling/certificate.h"
#include "sampling/optimal_strata.h"
#include "sampling/sample_size.h"

namespace stemtap::sampling {
namespace {

// Allocates sizes jointly over the strata of `kernels`.
void SizeTogether(std::span<std::vector<StratumRange>> kernels, const SamplingOptions& options) {
  std::vector<Stratum> strata;
  for (const std::vector<StratumRange>& kernel : kernels) {
    for (const StratumRange& s : kernel) strata.emplace_back(s.moments);
  }
  const std::vector<std::uint64_t> sizes =
      Allocate(strata, options.target(), Population::kFinite, options.min_samples);
  std::size_t next = 0;
  for (std::vector<StratumRange>& kernel : kernels) {
    for (StratumRange& s : kernel) s.sample_size = sizes[next++];
  }
}

}  // namespace

KernelCells CellsOf(const stats::LogSketch& sketch, std::vector<std::uint32_t>* bins) {
  KernelCells cells;
  for (std::size_t i = 0; i < sketch.bins().size(); ++i) {
    if (sketch.bins()[i].count == 0) continue;
    const std::uint32_t bin = sketch.first_bin() + static_cast<std::uint32_t>(i);
    cells.push_back(sketch.BinMoments(bin));
    if (bins != nullptr) bins->push_back(bin);
  }
  return cells;
}

void SizeStrata(std::span<std::vector<StratumRange>> kernels, const SamplingOptions& options) {
  if (options.method == Method::kStem) {
    const ErrorTarget target = options.target();
    for (std::vector<StratumRange>& kernel : kernels) {
      for (StratumRange& s : kernel) {
        const std::uint64_t own = SampleSize(s.moments.mean(), s.moments.stddev(),
                                             target.error_bound, target.z, kFloorClt);
        s.sample_size = std::min(std::max(own, options.min_samples), s.moments.count());
      }
    }
  } else if (options.bound == BoundScope::kWorkload) {
    SizeTogether(kernels, options);
  } else {
    for (std::vector<StratumRange>& kernel : kernels) SizeTogether({&kernel, 1}, options);
  }
}

WorkloadStrata StratifyWorkload(std::span<const CellsView> kernels, const SamplingOptions& options,
                                double multiplier, const ParallelFor& parallel) {
  WorkloadStrata result;
  const ErrorTarget target = options.target();
  if (options.method == Method::kOptimal) {
    const double fixed_ns = options.price.FixedPerFactor();
    const ErrorTarget certified = {options.error_bound, CertifiedZ(options.confidence)};
    if (options.bound == BoundScope::kWorkload) {
      OptimalStrata solved = SolveOptimalStrata(kernels, certified, options.min_samples, multiplier,
                                                Effort::kQuick, parallel, fixed_ns);
      return {std::move(solved.kernels), solved.multiplier};
    }
    result.kernels.resize(kernels.size());
    parallel(kernels.size(), [&](std::size_t i) {
      OptimalStrata solved = SolveOptimalStrata(kernels.subspan(i, 1), certified,
                                                options.min_samples, 0.0, Effort::kQuick, Serially, fixed_ns);
      result.kernels[i] = std::move(solved.kernels.front());
    });
    return result;
  }
  result.kernels.resize(kernels.size());
  parallel(kernels.size(), [&](std::size_t i) {
    result.kernels[i] = Stratify(options.method, kernels[i], target);
  });
  SizeStrata(result.kernels, options);
  return result;
}

}  // namespace stemtap::sampling
