// SPDX-License-Identifier: Apache-2.0
//
// PlanCost estimates how large the traces of a plan's samples are and how long a simulator needs
// for them. Both are in proportion to the GPU time of the samples and are only orders of magnitude:
// a kernel that waits for memory issues fewer instructions per ns than one that computes.
#pragma once

#include <string>

#include "model/plan.h"

namespace stemtap::model {

struct SimulatorRates {
  // MB of traces per ms of GPU time. A hundred multiprocessors that issue a warp instruction every
  // other cycle at 1.5 GHz execute 75 million of them per ms, and a compressed trace takes 10 to 20
  // bytes for each.
  double trace_mb_per_ms = 1000.0;
  // Simulated time / GPU time: a simulator executes some 10,000 to 100,000 warp instructions per
  // second.
  double slowdown = 1e6;
};

struct PlanCost {
  double trace_mb = 0.0;
  double simulation_s = 0.0;
};

// Returns the cost of launches that take `duration_ns` in total.
PlanCost CostOf(double duration_ns, const SimulatorRates& rates);

// Returns one line, without its end: the cost of the samples and of all launches, and the rates.
std::string CostText(const PlanTotals& totals, const SimulatorRates& rates);

}  // namespace stemtap::model
