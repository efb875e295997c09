// SPDX-License-Identifier: Apache-2.0
#include "ui/top/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace stemtap::ui {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Formats three significant digits, never as 1e+03.
std::string Three(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string Short(double value) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000.0;
    ++unit;
  }
  return Three(value) + kUnits[unit];
}

// Returns the sorted `bins` without the bins at either end that are almost empty.
std::span<const model::HistogramBin> WithoutEnds(std::span<const model::HistogramBin> bins) {
  constexpr double kMaxDroppedLaunches = 1e-3;
  constexpr double kMaxDroppedTime = 1e-2;
  const auto launches_of = [](const model::HistogramBin& bin) {
    return static_cast<double>(bin.count);
  };
  const auto time_of = [](const model::HistogramBin& bin) {
    return static_cast<double>(bin.count) * static_cast<double>(bin.upper_ns);
  };
  double launches = 0.0;
  double time = 0.0;
  for (const model::HistogramBin& bin : bins) {
    launches += launches_of(bin);
    time += time_of(bin);
  }
  const auto drop = [&](bool first) {
    double dropped = 0.0;
    double dropped_time = 0.0;
    while (bins.size() > 1) {
      const model::HistogramBin& bin = first ? bins.front() : bins.back();
      dropped += launches_of(bin);
      dropped_time += time_of(bin);
      if (dropped > kMaxDroppedLaunches * launches || dropped_time > kMaxDroppedTime * time) return;
      bins = first ? bins.subspan(1) : bins.first(bins.size() - 1);
    }
  };
  drop(true);
  drop(false);
  return bins;
}

bool IsReplay(const model::OverviewTotals& totals) {
  return totals.mode == "replay";
}

// Returns the end of the session's time axis, in seconds.
double EndOf(const model::OverviewTotals& totals) {
  return totals.timeline.empty() ? totals.elapsed_s
                                 : std::max(totals.elapsed_s, totals.timeline.back().elapsed_s);
}

// Returns the numbers of the first slice to draw and of the slice after the last one. The run may
// fill the first and the last slice only in part; a few slices are all drawn.
std::pair<std::uint32_t, std::uint32_t> DrawnSlices(const model::Activity& activity) {
  constexpr std::uint32_t kFew = 8;
  if (activity.count < kFew) return {0, activity.count};
  return {1, activity.count - 1};
}

// Returns the mean of `value_of` the slices in `columns` equal parts of the time.
template <typename ValueOf>
std::vector<double> OverSlices(const model::Activity& activity, int columns,
                               const ValueOf& value_of) {
  std::vector<double> values(static_cast<std::size_t>(std::max(columns, 0)), kNone);
  const auto [first, end] = DrawnSlices(activity);
  if (values.empty() || activity.empty() || end == first) return values;
  const double scale = static_cast<double>(values.size()) / (end - first);  // columns per slice
  std::fill(values.begin(), values.end(), 0.0);
  for (const model::ActivitySlice& slice : activity.slices) {
    if (slice.slice < first || slice.slice >= end) continue;
    const double from = scale * (slice.slice - first);
    const double to = from + scale;
    for (auto i = static_cast<std::size_t>(from); i < values.size(); ++i) {
      const auto left = static_cast<double>(i);
      if (left >= to) break;
      values[i] += value_of(slice) * std::max(0.0, std::min(to, left + 1.0) - std::max(from, left));
    }
  }
  return values;
}

}  // namespace

std::string Count(std::uint64_t count, int columns) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return static_cast<int>(text.size()) <= columns ? text : Short(static_cast<double>(count));
}

std::string Rate(double per_second) {
  if (!(per_second >= 0.0) || std::isinf(per_second)) return "-";
  if (per_second < 9999.5) return Count(static_cast<std::uint64_t>(std::llround(per_second)));
  return Short(per_second);
}

std::string Duration(double ns) {
  if (!(ns >= 0.0) || std::isinf(ns)) return "-";
  if (ns < 999.5) return fmt::format("{:.0f} ns", ns);
  if (ns < 999.5e3) return Three(ns * 1e-3) + " us";
  if (ns < 999.5e6) return Three(ns * 1e-6) + " ms";
  return Three(ns * 1e-9) + " s";
}

std::string Percent(double ratio) {
  if (std::isnan(ratio) || std::isinf(ratio)) return "-";
  const double percent = 100.0 * ratio;
  if (percent == 0.0) return "0 %";
  if (percent >= 9999.5) return ">9999 %";  // more digits add no information
  if (percent >= 0.995 || percent < 0.0) return Three(percent) + " %";
  if (percent < 1e-4) return "<0.0001 %";
  return percent < 0.0995 ? fmt::format("{:.4f} %", percent) : fmt::format("{:.3f} %", percent);
}

std::string Elapsed(double seconds) {
  if (!(seconds >= 0.0 && seconds < 1e15)) return "-";
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string Bars(std::span<const double> values, bool unicode) {
  static constexpr const char* kBlocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                            "\u2585", "\u2586", "\u2587", "\u2588"};
  static constexpr const char* kMarks[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
  double most = 0.0;
  for (const double value : values) {
    if (value > most) most = value;
  }
  std::string text;
  for (const double value : values) {
    int height = 0;
    if (value > 0.0) height = std::clamp(static_cast<int>(std::lround(8.0 * value / most)), 1, 8);
    text += unicode ? kBlocks[height] : kMarks[height];
  }
  return text;
}

DurationAxis DurationsOf(std::span<const model::OverviewKernel* const> kernels, int columns,
                         bool trim) {
  DurationAxis axis;
  std::vector<model::HistogramBin> bins;
  for (const model::OverviewKernel* kernel : kernels) {
    for (model::HistogramBin bin : kernel->histogram) {
      bin.upper_ns = std::max(bin.lower_ns, bin.upper_ns);  // guards against invalid files
      bins.push_back(bin);
    }
  }
  if (bins.empty() || columns <= 0) return axis;
  std::sort(bins.begin(), bins.end(),
            [](const model::HistogramBin& a, const model::HistogramBin& b) {
              return a.lower_ns < b.lower_ns;
            });
  const std::span<const model::HistogramBin> shown = trim ? WithoutEnds(bins) : bins;
  auto lower = static_cast<double>(shown.front().lower_ns);
  double upper = 0.0;
  for (const model::HistogramBin& bin : shown)
    upper = std::max(upper, static_cast<double>(bin.upper_ns));
  lower = std::log2(std::max(lower, 1.0));
  upper = std::log2(std::max(upper, 1.0));
  if (const double short_of = 1.0 - (upper - lower); short_of > 0.0) {
    lower -= short_of / 2.0;
    upper += short_of / 2.0;
  }
  axis.lower_ns = std::exp2(lower);
  axis.upper_ns = std::exp2(upper);
  axis.launches.assign(static_cast<std::size_t>(columns), 0.0);
  const double scale = columns / (upper - lower);
  const auto column_of = [&](std::uint64_t ns) {
    const double at = (std::log2(std::max(static_cast<double>(ns), 1.0)) - lower) * scale;
    return std::clamp(at, 0.0, static_cast<double>(columns));
  };
  for (const model::HistogramBin& bin : bins) {
    const double from = column_of(bin.lower_ns);
    const double to = std::max(column_of(bin.upper_ns), from);
    const auto first = static_cast<std::size_t>(std::min(from, columns - 1.0));
    const auto last = static_cast<std::size_t>(std::min(to, columns - 1.0));
    const auto count = static_cast<double>(bin.count);
    if (first == last || to == from) {
      axis.launches[first] += count;
      continue;
    }
    for (std::size_t i = first; i <= last; ++i) {
      const double left = std::max(from, static_cast<double>(i));
      const double right = std::min(to, static_cast<double>(i) + 1.0);
      axis.launches[i] += count * std::max(0.0, right - left) / (to - from);
    }
  }
  return axis;
}

double RunSeconds(const model::OverviewTotals& totals) {
  if (!IsReplay(totals)) return totals.elapsed_s;
  const model::Activity& activity = totals.activity;
  if (activity.empty()) return kNone;
  return static_cast<double>(activity.width_ns) * static_cast<double>(activity.count) * 1e-9;
}

std::vector<double> BoundAt(const model::OverviewTotals& totals, int columns) {
  std::vector<double> bounds(static_cast<std::size_t>(std::max(columns, 0)), kNone);
  if (bounds.empty() || totals.timeline.empty()) return bounds;
  const bool by_launch = IsReplay(totals);
  const double end = by_launch ? static_cast<double>(totals.observed) : EndOf(totals);
  if (!(end > 0.0) || std::isinf(end)) return bounds;
  const auto column_of = [&](const model::TimelinePoint& point) {
    const double place = by_launch ? static_cast<double>(point.observed) : point.elapsed_s;
    const double at = place / end * static_cast<double>(bounds.size());
    return at >= 0.0 ? std::min(static_cast<std::size_t>(at), bounds.size() - 1) : 0;
  };
  for (const model::TimelinePoint& point : totals.timeline) bounds[column_of(point)] = point.bound;
  bounds.back() = std::isnan(totals.bound) ? bounds.back() : totals.bound;
  // The last bound is valid until the next point.
  double last = kNone;
  for (double& bound : bounds) {
    if (std::isnan(bound) || std::isinf(bound) || bound < 0.0) bound = last;
    last = bound;
  }
  return bounds;
}

std::vector<double> BoundOverTime(const model::OverviewTotals& totals, int columns) {
  std::vector<double> bounds = BoundAt(totals, columns);
  double least =
      std::isnan(totals.error_bound) || totals.error_bound <= 0.0 ? 1.0 : totals.error_bound;
  for (const double bound : bounds) {
    if (bound > 0.0) least = std::min(least, bound);
  }
  // Halve it, so that the minimum also has a visible bar.
  for (double& bound : bounds) {
    if (!std::isnan(bound))
      bound = std::max(0.0, std::log2(std::max(bound, least) / (0.5 * least)));
  }
  return bounds;
}

std::vector<double> RateOverTime(const model::OverviewTotals& totals, int columns) {
  std::vector<double> rates(static_cast<std::size_t>(std::max(columns, 0)), kNone);
  const double end = EndOf(totals);
  if (rates.empty() || totals.timeline.empty() || !(end > 0.0) || std::isinf(end)) return rates;
  // Launches observed at a time, linear between the points.
  std::size_t next = 0;
  std::vector<model::TimelinePoint> points = totals.timeline;
  // What was observed since the last point.
  const std::uint64_t last = std::max(points.back().observed, totals.observed);
  points.push_back({totals.elapsed_s, last});
  const auto observed_at = [&](double elapsed_s) {
    while (next < points.size() && points[next].elapsed_s < elapsed_s) ++next;
    if (next == points.size()) return static_cast<double>(last);
    const model::TimelinePoint before = next == 0 ? model::TimelinePoint{} : points[next - 1];
    const double span = points[next].elapsed_s - before.elapsed_s;
    const double part = span > 0.0 ? (elapsed_s - before.elapsed_s) / span : 1.0;
    return static_cast<double>(before.observed) +
           part * static_cast<double>(points[next].observed - before.observed);
  };
  const double width = end / static_cast<double>(rates.size());
  double before = 0.0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double now = observed_at(width * static_cast<double>(i + 1));
    rates[i] = (now - before) / width;
    before = now;
  }
  return rates;
}

std::vector<double> BusyOverTime(const model::Activity& activity, int columns) {
  const double whole =
      static_cast<double>(activity.width_ns) * std::max<std::uint32_t>(activity.devices, 1);
  std::vector<double> shares =
      OverSlices(activity, columns, [whole](const model::ActivitySlice& slice) {
        return static_cast<double>(slice.busy_ns) / whole;
      });
  for (double& share : shares) share = std::min(share, 1.0);
  return shares;
}

std::vector<double> RateOverTime(const model::Activity& activity, int columns) {
  const double seconds = static_cast<double>(activity.width_ns) * 1e-9;
  return OverSlices(activity, columns, [seconds](const model::ActivitySlice& slice) {
    return static_cast<double>(slice.launches) / seconds;
  });
}

double DrawnSeconds(const model::Activity& activity) {
  const auto [first, end] = DrawnSlices(activity);
  return static_cast<double>(activity.width_ns) * static_cast<double>(end - first) * 1e-9;
}

double BusyShare(const model::Activity& activity, std::uint64_t last_ns) {
  if (activity.empty() || activity.width_ns == 0) return kNone;
  std::uint64_t first = 0;
  std::uint64_t end = activity.count;
  if (end > 1) --end;
  const std::uint64_t wanted = std::max<std::uint64_t>(last_ns / activity.width_ns, 1);
  if (end - first > wanted) first = end - wanted;
  if (first == 0 && end > 1) first = 1;
  std::uint64_t busy_ns = 0;
  for (const model::ActivitySlice& slice : activity.slices) {
    if (slice.slice >= first && slice.slice < end) busy_ns += slice.busy_ns;
  }
  const double whole = static_cast<double>(activity.width_ns) * static_cast<double>(end - first) *
                       std::max<std::uint32_t>(activity.devices, 1);
  return std::min(1.0, static_cast<double>(busy_ns) / whole);
}

}  // namespace stemtap::ui
