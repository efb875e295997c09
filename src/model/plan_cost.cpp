// SPDX-License-Identifier: Apache-2.0
#include "model/plan_cost.h"

#include <fmt/format.h>

#include "base/text.h"

namespace stemtap::model {

PlanCost CostOf(double duration_ns, const SimulatorRates& rates) {
  return {duration_ns * 1e-6 * rates.trace_mb_per_ms, duration_ns * 1e-9 * rates.slowdown};
}

std::string CostText(const PlanTotals& totals, const SimulatorRates& rates) {
  const auto text = [&](std::uint64_t duration_ns) {
    const PlanCost cost = CostOf(static_cast<double>(duration_ns), rates);
    return fmt::format("{} of traces and {} of simulation", ShownBytes(cost.trace_mb * 1e6),
                       ShownSeconds(cost.simulation_s));
  };
  return fmt::format(
      "the samples cost about {} instead of {} (--trace-rate {:.10g}, --slowdown {:.10g})",
      text(totals.sampled_duration_ns), text(totals.duration_ns), rates.trace_mb_per_ms,
      rates.slowdown);
}

}  // namespace stemtap::model
