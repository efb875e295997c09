// SPDX-License-Identifier: Apache-2.0
//
// CapturePrice is what a captured launch costs: a fixed time, plus a multiple of its duration. A
// profiler that replays a kernel pays mostly the former, a simulator mostly the latter. Plans
// minimize the sum over their samples.
//
// UNITS: ns. SOURCE: docs/math/optimal.md, "Prices".
#pragma once

namespace stemtap::sampling {

struct CapturePrice {
  double fixed_ns = 0.0;
  double factor = 1.0;  // > 0

  // Only ratios of costs matter, so all costs are in units of `factor`: the cost of a sample is its
  // duration plus this.
  double FixedPerFactor() const { return fixed_ns / factor; }
  double CostOf(double samples, double duration_ns) const {
    return samples * fixed_ns + factor * duration_ns;
  }
};

}  // namespace stemtap::sampling
