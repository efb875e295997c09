// SPDX-License-Identifier: Apache-2.0
//
// StratifyWorkload computes, from the durations of all kernels, how each kernel is cut into strata
// and how many launches of each stratum to sample.
//
//   kOptimal    solves for the cuts and sizes of all kernels together (optimal_strata.h), with the
//               z of the certificate, so that the certified bound is close to the requested one
//   kRoot       cuts each kernel separately and allocates sizes over all kernels (or per kernel)
//   kStem       cuts each kernel separately; each stratum keeps its own size
//
// DesignSample finds the cheapest strata and sizes whose *certified* bound meets the error bound.
// It is slower than StratifyWorkload and is used for finished profiles.
//
// The solvers use the error model of the central limit theorem. For one sample from a skewed
// stratum the true quantile is up to a quarter larger, and for few bounded strata a third smaller.
// DesignSample therefore calls the solver with tighter or looser bounds until the certificate just
// meets the error bound. For kOptimal, it also tries the strata of ROOT with new sizes: if a few
// strata dominate, minimum variance is not always the minimum quantile.
//
// With max_uncovered > 0, kOptimal for the workload's total also chooses whole kernels that get no
// samples: the bound counts their full time, which can cost less than sampling them.
//
// For kOptimal and the workload's total, plans include second samples that show the spread of other
// metrics (AddSpreadPairs). Each try is judged with them.
//
// SOURCE: docs/math/optimal.md, root.md, allocation.md, certificate.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "sampling/sampling_options.h"
#include "sampling/strata.h"

namespace stemtap::sampling {

// Sets the sizes of given strata by the rule of options.method for options.error_bound.
// REQUIRES: method is kRoot or kStem.
void SizeStrata(std::span<std::vector<StratumRange>> kernels, const SamplingOptions& options);

// Returns the kernels of each total that the bound applies to, in order of their first kernels.
// `ranges`: the number of the range of each kernel, used only if `scope` is kRange.
std::vector<std::vector<std::size_t>> KernelsByTotal(BoundScope scope, std::size_t kernels,
                                                     std::span<const std::uint32_t> ranges);

// `ranges`: as for KernelsByTotal.
// `multiplier` is the multiplier of an earlier result for similar kernels, or 0. The result does
// not depend on how `parallel` schedules its tasks.
Design StratifyWorkload(std::span<const CellsView> kernels, const SamplingOptions& options,
                        double multiplier = 0.0, const ParallelFor& parallel = Serially,
                        std::span<const std::uint32_t> ranges = {});

// bound <= options.error_bound, for each kernel or range if options.bound is kKernel or kRange.
// kRoot and kStem use the strata of their papers, and the sizes too if those meet the bound;
// otherwise sizes for a tighter bound. REQUIRES: as for StratifyWorkload.
Design DesignSample(std::span<const KernelCells> kernels, const SamplingOptions& options,
                    const ParallelFor& parallel = Serially,
                    std::span<const std::uint32_t> ranges = {});

}  // namespace stemtap::sampling
