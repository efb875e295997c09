// SPDX-License-Identifier: Apache-2.0
//
// LogWidth is the width of a cluster in the two effects of width: the elasticity of values
// (Curve::tilt) and their spread (SpreadTilt) may differ between narrow and wide clusters. Each is
// one slope per unit of log width, common to all kernels.
//
// SOURCE: docs/math/extrapolate.md
#pragma once

#include "analysis/extrapolation/observed_cluster.h"

namespace stemtap::analysis {

// Returns the log of the relative width, limited to widths from 0.01 to 2: narrower clusters are
// constant, and wider clusters have outliers.
double LogWidth(const ObservedCluster& cluster);

}  // namespace stemtap::analysis
