// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/report_cells.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace stemtap::analysis {

std::string Percent(double fraction) {
  if (!std::isfinite(fraction)) return "none";
  return fraction != 0.0 && fraction < 0.0001 ? "<0.01 %"
                                              : fmt::format("{:.2f} %", 100.0 * fraction);
}

std::string Margin(const Estimate& estimate) {
  if (!std::isfinite(estimate.half_width)) return "none";
  if (estimate.half_width == 0.0) return "0 %";
  if (estimate.value == 0.0) return fmt::format("{:.4g}", estimate.half_width);
  const double size = std::abs(estimate.value);
  const std::string below = Percent((estimate.value - estimate.lower) / size);
  const std::string above = Percent((estimate.upper - estimate.value) / size);
  return below == above ? below : fmt::format("-{} +{}", below, above);
}

std::string Number(double value) {
  if (!std::isfinite(value)) return "none";
  return std::abs(value) >= 1e6 && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                          : fmt::format("{:.7g}", value);
}

double Scaled(const MetricEstimate& metric) {
  const double covered = 1.0 - metric.uncovered_fraction;
  return metric.additive && covered > 0.0 ? metric.calibrated.value / covered
                                          : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace stemtap::analysis
