// SPDX-License-Identifier: Apache-2.0
//
// Principal Kernel Selection, the inter-kernel part of Principal Kernel Analysis: twelve counters
// of every invocation, standardised, turned onto the principal components that keep 99.95 % of the
// variance, and clustered by k-means for k = 1 to 20. The k whose projected total duration
//
//   sum over clusters of  size x duration of the representative
//
// errs least is taken (the smallest of equals). The representative is the cluster's first
// invocation in launch order; its weight is the cluster's size. No bound is stated.
//
// UNITS: method.h.  SOURCE: Avalos Baddouh et al., Principal Kernel Analysis (MICRO 2021);
// docs/math/baselines.md says where this differs.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap {

inline constexpr double kPkaVarianceShare = 0.9995;
inline constexpr std::size_t kPkaMostClusters = 20;

// An error names the metric columns that are missing (docs/formats/metrics.md).
Result<std::unique_ptr<PreparedMethod>> PreparePka(const MethodInput& input);

}  // namespace stemtap
