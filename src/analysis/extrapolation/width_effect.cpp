// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/width_effect.h"

#include <algorithm>
#include <cmath>

namespace stemtap::analysis {

double LogWidth(const ObservedCluster& cluster) {
  return std::log(std::clamp(RelativeWidth(cluster), 0.01, 2.0));
}

}  // namespace stemtap::analysis
