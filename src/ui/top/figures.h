// SPDX-License-Identifier: Apache-2.0
//
// Numbers as a reader of a small table wants them, and rows of bars one character high.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/overview.h"

namespace stemtap::top {

// "816,000"; "816M" where that takes more than `columns`.
std::string Count(std::uint64_t count, int columns = 11);
// "1,234", "66.3k", "1.20M".
std::string Rate(double per_second);
// "0 ns", "812 ns", "6.10 us", "12.3 ms", "61.0 s".
std::string Duration(double ns);
// Of a ratio: "44.1 %", "0.0080 %"; "-" for NaN.
std::string Percent(double ratio);
// "0:12", "12:03", "3:12:03".
std::string Elapsed(double seconds);

// Values as bars of eight heights, the greatest in full; what is more than 0 is seen, 0 and NaN are blank.
// Without `unicode` in characters that grow darker.
std::string Bars(std::span<const double> values, bool unicode);

// How many launches fall on each of `columns` equal parts of a log axis from the shortest to the longest
// duration, of at least a factor of two so that a narrow peak is narrow. The bins of all `kernels` count.
struct DurationAxis {
  double lower_ns = 0.0;
  double upper_ns = 0.0;
  std::vector<double> launches;  // empty: there are no bins
};
// With `trim` the axis leaves out ends that hold a thousandth of the launches and a hundredth of their time
// at most: the first and the last part hold what is beyond. One outlier would leave the rest one bar.
DurationAxis DurationsOf(std::span<const OverviewKernel* const> kernels, int columns, bool trim);

// The bound over the session's time in `columns` parts, on a log axis, as values for Bars.
std::vector<double> BoundOverTime(const OverviewTotals& totals, int columns);

}  // namespace stemtap::top
