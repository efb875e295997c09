// SPDX-License-Identifier: Apache-2.0
//
// Formats numbers for small tables and draws bar charts one character high.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/overview.h"

namespace stemtap::ui {

// "816,000"; "816M" if the full number takes more than `columns`.
std::string Count(std::uint64_t count, int columns = 11);
// "1,234", "66.3k", "1.20M".
std::string Rate(double per_second);
// "0 ns", "812 ns", "6.10 us", "12.3 ms", "61.0 s".
std::string Duration(double ns);
// Formats a ratio: "44.1 %", "0.0080 %"; "-" for NaN.
std::string Percent(double ratio);
// "0:12", "12:03", "3:12:03".
std::string Elapsed(double seconds);

// Draws values as bars of eight heights, scaled to the maximum. Values above 0 are always visible;
// 0 and NaN are blank. Without `unicode`, uses ASCII characters of increasing darkness.
std::string Bars(std::span<const double> values, bool unicode);

// DurationAxis counts the launches in `columns` equal parts of a log axis from the shortest to the
// longest duration. The axis spans at least a factor of two, so that a narrow peak looks narrow.
struct DurationAxis {
  double lower_ns = 0.0;
  double upper_ns = 0.0;
  std::vector<double> launches;  // empty if there are no bins
};
// Combines the bins of all `kernels`. With `trim`, each end of the axis omits at most a thousandth
// of the launches and a hundredth of their time, and the first and last part count the omitted
// launches. Otherwise one outlier would squeeze all other launches into one bar.
DurationAxis DurationsOf(std::span<const model::OverviewKernel* const> kernels, int columns,
                         bool trim);

// Returns the duration of the run in seconds: of a live session, since it began; of a replay, on
// the devices' clock, because the time that the replay took is unrelated. NaN if unknown.
double RunSeconds(const model::OverviewTotals& totals);

// Each returns values over the session's time in `columns` parts, NaN where they are unknown; the
// bound of a replay, over its launches. BoundAt returns the bound, which is valid until the next
// point. BoundOverTime returns the bound on a log axis, as values for Bars.
std::vector<double> BoundAt(const model::OverviewTotals& totals, int columns);
std::vector<double> BoundOverTime(const model::OverviewTotals& totals, int columns);
// Launches per second, from the launches observed at each point of the timeline.
std::vector<double> RateOverTime(const model::OverviewTotals& totals, int columns);
// Launches per second on the devices, and the mean share of their time in which a kernel ran. They
// cover DrawnSeconds(): the slices of `activity` without the first and the last, which the run may
// fill only in part, or all if there are few.
std::vector<double> RateOverTime(const model::Activity& activity, int columns);
std::vector<double> BusyOverTime(const model::Activity& activity, int columns);
double DrawnSeconds(const model::Activity& activity);

// Returns the mean share of time in which the devices were busy, in the last `last_ns`. Omits the
// first and the last slice, which the run may fill only in part, if there are others in that time.
// NaN without activity.
double BusyShare(const model::Activity& activity, std::uint64_t last_ns);

}  // namespace stemtap::ui
