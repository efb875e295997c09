// SPDX-License-Identifier: Apache-2.0
//
// Charts of several lines: values over time as bars, with a scale. `stemtap top` draws them on
// large screens.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "ui/top/canvas.h"
#include "ui/top/model.h"

namespace stemtap::ui {

// Chart is a series of values over time, one per column of the plot.
struct Chart {
  std::string title;
  std::vector<double> values;  // NaN: unknown
  double lower = 0.0;          // at the bottom of the plot; above 0 if `log`
  double upper = 1.0;          // at the top of the plot
  bool log = false;            // logarithmic scale
  double mark = std::numeric_limits<double>::quiet_NaN();  // has a line and a label
  Style style = Style::kPlain;
  std::string (*label)(double) = nullptr;
  std::string end;  // right end of the axis of time or launches, which begins at 0
};

// Columns that a chart needs besides its plot: the scale at its left and a space at its right.
inline constexpr int kChartMargin = 10;

// Returns the title, `rows` lines of the plot, and the time axis. REQUIRES: rows >= 2.
std::vector<Line> DrawChart(const Chart& chart, std::size_t rows, const Canvas& canvas);

// Returns launches per second, busy time and bound side by side in `rows` + 2 lines; empty if there
// is nothing to draw.
std::vector<Line> ActivityCharts(const Model& model, std::size_t rows, const Canvas& canvas);

}  // namespace stemtap::ui
