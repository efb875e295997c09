// SPDX-License-Identifier: Apache-2.0
#include "model/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace stemtap::model {

std::uint64_t DrawnCount(const PlanCluster& cluster) {
  return cluster.count - cluster.joined - cluster.other_periods;
}

double DrawnMean(const PlanCluster& cluster) {
  return cluster.mean_ns + cluster.joined_bias_ns / static_cast<double>(cluster.count);
}

double JoinedTime(const PlanCluster& cluster) {
  if (cluster.joined == 0) return 0.0;
  // joined_bias_ns is (joined + other_periods) x drawn mean - their time.
  const std::uint64_t represented = cluster.joined + cluster.other_periods;
  return static_cast<double>(represented) * DrawnMean(cluster) - cluster.joined_bias_ns -
         cluster.other_periods_ns;
}

void StateBound(PlanTotals& totals) {
  // If the observed error is NaN, the comparison is false and the certified bound is used.
  totals.bound = totals.observed_error > totals.certified_bound ? totals.observed_error
                                                                : totals.certified_bound;
}

bool ExceedsCertifiedBound(double error, double certified_bound) {
  constexpr double kRounding = 1e-9;  // of sums of 64-bit durations in doubles
  return error > certified_bound + kRounding;
}

std::string OptionText(const OptionList& options, std::string_view name) {
  for (const auto& [key, value] : options) {
    if (key != name) continue;
    return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
  }
  return {};
}

double OptionNumber(const OptionList& options, std::string_view name) {
  for (const auto& [key, value] : options) {
    if (key != name) continue;
    if (const auto* number = std::get_if<double>(&value)) return *number;
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
      return static_cast<double>(*number);
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

const std::string& KernelNameOf(const PlanKernel& kernel, const PlanSample& sample) {
  return kernel.pooled.empty() ? kernel.name : kernel.pooled[sample.pooled].name;
}

bool IsOfLiveSession(const Plan& plan) {
  return !OptionText(plan.options, "level").empty();
}

bool HasPool(const Plan& plan) {
  return std::any_of(plan.kernels.begin(), plan.kernels.end(),
                     [](const PlanKernel& kernel) { return !kernel.pooled.empty(); });
}

bool HasRanges(const Plan& plan) {
  for (const PlanKernel& kernel : plan.kernels) {
    for (const PlanCluster& cluster : kernel.clusters) {
      const auto has_range = [](const PlanSample& sample) { return !sample.range.empty(); };
      if (std::any_of(cluster.samples.begin(), cluster.samples.end(), has_range)) return true;
    }
  }
  return false;
}

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
