// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "ui/top/draw.h"
#include "ui/top/figures.h"

namespace stemtap::ui {
namespace {

constexpr int kLabelColumns = kChartMargin - 2;  // of the scale, without the axis

// Returns the position of `value` on the scale: 0 at the bottom, 1 at the top.
double PlaceOf(const Chart& chart, double value) {
  if (chart.log) {
    if (!(value > chart.lower)) return 0.0;
    return std::min(1.0, std::log(value / chart.lower) / std::log(chart.upper / chart.lower));
  }
  return std::clamp((value - chart.lower) / (chart.upper - chart.lower), 0.0, 1.0);
}

double ValueAt(const Chart& chart, double place) {
  if (chart.log) return chart.lower * std::pow(chart.upper / chart.lower, place);
  return chart.lower + place * (chart.upper - chart.lower);
}

// Returns the line of the plot that contains `value`; line 0 is at the top.
std::size_t RowOf(const Chart& chart, double value, std::size_t rows) {
  const auto below = static_cast<std::size_t>(PlaceOf(chart, value) * static_cast<double>(rows));
  return rows - 1 - std::min(below, rows - 1);
}

// Returns one line of the plot. A value above 0 has a visible bar. The mark is a line where no bar
// is, and a gap in the bars.
std::string BarsOfRow(const Chart& chart, std::size_t row, std::size_t rows, bool unicode) {
  static constexpr const char* kBlocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                            "\u2585", "\u2586", "\u2587", "\u2588"};
  static constexpr const char* kMarks[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};
  const bool has_mark = !std::isnan(chart.mark) && RowOf(chart, chart.mark, rows) == row;
  const char* const empty = !has_mark ? " " : unicode ? "\u2500" : "-";
  const char* const full = unicode ? kBlocks[has_mark ? 7 : 8] : has_mark ? "=" : kMarks[8];
  std::string text;
  for (const double value : chart.values) {
    int eighths = 0;
    if (value > 0.0) {
      const double height = PlaceOf(chart, value) * 8.0 * static_cast<double>(rows);
      const double below = 8.0 * static_cast<double>(rows - 1 - row);
      const int whole = std::max(1, static_cast<int>(std::lround(height)));
      eighths = std::clamp(whole - static_cast<int>(below), 0, 8);
    }
    text += eighths == 0   ? empty
            : eighths == 8 ? full
            : unicode      ? kBlocks[eighths]
                           : kMarks[eighths];
  }
  return text;
}

// The scale has labels at the top, at the bottom, and at the mark. A log scale also has the powers
// of ten, another scale the middle, at the upper edge of its row.
std::string ScaleOf(const Chart& chart, std::size_t row, std::size_t rows) {
  if (row == 0) return chart.label(chart.upper);
  if (!std::isnan(chart.mark) && RowOf(chart, chart.mark, rows) == row) {
    return chart.label(chart.mark);
  }
  if (row + 1 == rows) return chart.label(chart.lower);
  if (chart.log) {
    const double first = std::pow(10.0, std::ceil(std::log10(chart.lower)));
    for (double power = first; power < chart.upper; power *= 10.0) {
      if (RowOf(chart, power, rows) == row) return chart.label(power);
    }
    return "";
  }
  if (rows < 5 || row != rows / 2) return "";
  return chart.label(ValueAt(chart, 1.0 - static_cast<double>(row) / static_cast<double>(rows)));
}

// Returns the next round value, at least `value`.
double RoundUp(double value) {
  if (!(value > 0.0)) return 1.0;
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (value <= step * power * (1.0 + 1e-9)) return step * power;
  }
  return 10.0 * power;
}

// Returns the previous value of 1, 2 or 5 times a power of ten.
double RoundDown(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {5.0, 2.0}) {
    if (value >= step * power * (1.0 - 1e-9)) return step * power;
  }
  return power;
}

// Formats a round bound: "5 %", "0.02 %".
std::string RoundPercent(double ratio) {
  return fmt::format("{:.4g} %", 100.0 * ratio);
}

Chart RateChart(const model::OverviewTotals& o, int columns) {
  Chart chart;
  chart.title = "launches per second";
  // Launches reach the sampler late and in batches, so the devices' own times are better.
  const bool has_activity = !o.activity.empty();
  chart.values = has_activity ? RateOverTime(o.activity, columns) : RateOverTime(o, columns);
  double most = 0.0;
  for (const double rate : chart.values) {
    if (rate > most) most = rate;
  }
  chart.upper = RoundUp(most);
  chart.label = Rate;
  chart.end = Elapsed(has_activity ? DrawnSeconds(o.activity) : o.elapsed_s);
  return chart;
}

Chart BusyChart(const model::Activity& activity, int columns) {
  Chart chart;
  chart.title = activity.devices > 1
                    ? "GPU busy, mean of " + std::to_string(activity.devices) + " devices"
                    : "GPU busy";
  chart.values = BusyOverTime(activity, columns);
  chart.label = Percent;
  chart.style = Style::kGood;
  chart.end = Elapsed(DrawnSeconds(activity));
  return chart;
}

Chart BoundChart(const model::OverviewTotals& o, int columns) {
  Chart chart;
  chart.title = "bound (log), requested: " + Percent(o.error_bound);
  chart.values = BoundAt(o, columns);
  double least = o.error_bound > 0.0 ? o.error_bound : 1.0;
  chart.upper = 1.0;
  for (const double bound : chart.values) {
    if (bound > 0.0 && std::isfinite(bound)) {
      least = std::min(least, bound);
      chart.upper = std::max(chart.upper, bound);
    }
  }
  chart.upper = RoundUp(chart.upper);
  chart.lower = RoundDown(std::max(least / 1.5, 1e-9));  // the minimum has a visible bar
  chart.log = true;
  if (o.error_bound > 0.0) chart.mark = o.error_bound;
  chart.label = RoundPercent;
  chart.style = Style::kNotice;
  chart.end = o.mode == "replay" ? Count(o.observed, 7) + " launches" : Elapsed(o.elapsed_s);
  return chart;
}

}  // namespace

std::vector<Line> DrawChart(const Chart& chart, std::size_t rows, const Canvas& canvas) {
  const int columns = static_cast<int>(chart.values.size());
  const std::string space(static_cast<std::size_t>(kLabelColumns) + 1, ' ');
  std::vector<Line> lines;
  lines.push_back(
      canvas.NewLine().Add(space).Add(FitLeft(chart.title, columns + 1, canvas.unicode)).Take());
  for (std::size_t row = 0; row < rows; ++row) {
    lines.push_back(
        canvas.NewLine()
            .Add(FitRight(ScaleOf(chart, row, rows), kLabelColumns, canvas.unicode), Style::kDim)
            .Add(canvas.unicode ? "\u2502" : "|", Style::kDim)
            .Add(BarsOfRow(chart, row, rows, canvas.unicode), chart.style)
            .Add(" ")
            .Take());
  }
  const int left = columns + 1 - ColumnsOf(chart.end);
  lines.push_back(canvas.NewLine()
                      .Add(space)
                      .Add(FitLeft("0", std::max(left - 1, 1), canvas.unicode), Style::kDim)
                      .Add(FitRight(chart.end, columns + 1 - std::max(left - 1, 1), canvas.unicode),
                           Style::kDim)
                      .Take());
  return lines;
}

std::vector<Line> ActivityCharts(const Model& model, std::size_t rows, const Canvas& canvas) {
  const model::OverviewTotals& o = model.run().totals;
  if (o.timeline.empty()) return {};
  const bool has_activity = !o.activity.empty();
  // How fast a replay read its launches is not how fast they were launched.
  const bool has_rate = has_activity || o.mode != "replay";
  const int columns = canvas.width / (has_activity ? 3 : has_rate ? 2 : 1) - kChartMargin;
  std::vector<Chart> charts;
  if (has_rate) charts.push_back(RateChart(o, columns));
  if (has_activity) charts.push_back(BusyChart(o.activity, columns));
  charts.push_back(BoundChart(o, columns));
  std::vector<Line> lines(rows + 2);
  for (const Chart& chart : charts) {
    std::vector<Line> drawn = DrawChart(chart, rows, canvas);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::move(drawn[i].spans.begin(), drawn[i].spans.end(), std::back_inserter(lines[i].spans));
    }
  }
  return lines;
}

}  // namespace stemtap::ui
