// SPDX-License-Identifier: Apache-2.0
//
// Cells of the tables of `stemtap extrapolate`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "analysis/extrapolation/extrapolate.h"

namespace stemtap::analysis {

// Returns a percentage of two digits, or "none".
std::string Percent(double fraction);

// Returns the interval relative to the estimate; both sides if they differ.
std::string Margin(const Estimate& estimate);

// Returns about seven digits, or "none".
std::string Number(double value);

// Columns of a name; the numbers of a row need about 100.
inline constexpr std::size_t kNameColumns = 44;

// Returns the calibrated total divided by the covered share of native time: an estimate that treats
// uncovered time like covered time. NaN if the share is 0 or unknown, or the metric is not a total.
double Scaled(const MetricEstimate& metric);

// Returns the share of native time that the intervals do not cover: time without a result, and
// joined launches, whose values are estimated from other launches. `Fractions` is Extrapolation or
// MetricEstimate.
template <typename Fractions>
double OutsideIntervals(const Fractions& of) {
  return std::min(1.0, of.uncovered_fraction + of.joined_fraction);
}

}  // namespace stemtap::analysis
