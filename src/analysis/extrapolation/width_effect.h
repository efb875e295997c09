// SPDX-License-Identifier: Apache-2.0
//
// Effects of the width of clusters: the elasticity of values and their spread may differ between
// narrow and wide clusters. An effect is one slope per unit of log width, for all kernels.
//
// SOURCE: docs/math/extrapolate.md
#pragma once

#include "analysis/extrapolation/observed_cluster.h"

namespace stemtap {

// Log of the relative width, limited to widths from 0.01 to 2: a narrower cluster is constant, and a
// wider one has outliers.
double LogWidth(const ObservedCluster& cluster);

}  // namespace stemtap
