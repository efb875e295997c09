// SPDX-License-Identifier: Apache-2.0
//
// DesignSample is StratifyWorkload with the certificate in hand, for those who have the time (a
// finished profile): the cheapest strata and sizes whose *certified* bound meets the error bound.
//
// The error model inside the solvers is the central limit theorem's. Where one sample is drawn from
// a skewed stratum the true quantile is up to a quarter wider, and for few bounded strata a third
// narrower; so the solver is asked for a tighter or looser bound until the certificate just meets
// what was asked. Besides its own strata kOptimal considers those of ROOT, sized anew: where few
// strata decide, least variance is not always least quantile.
//
// SOURCE: docs/math/certificate.md, docs/math/optimal.md.
#pragma once

#include <span>
#include <vector>

#include "base/parallel.h"
#include "sampling/sampling_options.h"
#include "sampling/workload_strata.h"

namespace stemtap {

struct SampleDesign {
  std::vector<std::vector<StratumRange>> kernels;  // by kernel, ascending, with the sizes to take
  double bound = 0.0;                              // certified, relative, at options.confidence
};

// With kOptimal bound <= options.error_bound; the other methods take what their papers say, and the
// bound says what that is worth. REQUIRES: as StratifyWorkload.
SampleDesign DesignSample(std::span<const KernelCells> kernels, const SamplingOptions& options,
                          const ParallelFor& parallel = Serially);

}  // namespace stemtap
