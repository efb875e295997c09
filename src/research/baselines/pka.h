// SPDX-License-Identifier: Apache-2.0
//
// Principal Kernel Selection is the inter-kernel part of Principal Kernel Analysis. It standardizes
// twelve counters of every launch, projects them onto the principal components that keep 99.95 % of
// the variance, and clusters them by k-means for k = 1 to 20. It chooses the k with the smallest
// error of the projected total duration
//
//   sum over clusters of  size x duration of the representative
//
// and the smallest such k on ties. The representative is the cluster's first launch in launch
// order; its weight is the cluster's size. The method states no bound.
//
// UNITS: method.h.  SOURCE: Avalos Baddouh et al., Principal Kernel Analysis (MICRO 2021);
// docs/math/baselines.md lists the differences.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap::research {

inline constexpr double kPkaVarianceShare = 0.9995;
inline constexpr std::size_t kPkaMaxClusters = 20;

// An error lists the missing metric columns (docs/formats/metrics.md).
Result<std::unique_ptr<PreparedMethod>> PreparePka(const MethodInput& input);

}  // namespace stemtap::research
