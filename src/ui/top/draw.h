// SPDX-License-Identifier: Apache-2.0
//
// Draws the frames of `stemtap top`: a header, charts on large screens, a table and the keys. Only
// visible rows are formatted.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "base/wrap.h"
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

// Returns the chart: the title, `rows` lines of the plot, and the time axis. REQUIRES: rows >= 2.
std::vector<Line> DrawChart(const Chart& chart, std::size_t rows, const Canvas& canvas);

// Returns launches per second, busy time and bound side by side in `rows` + 2 lines; empty if there
// is nothing to draw.
std::vector<Line> ActivityCharts(const Model& model, std::size_t rows, const Canvas& canvas);

// Returns the lines above the tables: title, messages and totals.
std::vector<Line> Header(const Model& model, const Canvas& canvas);

// Draw all rows of a table, without a cursor.
inline constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();
inline constexpr Place kNoCursor = {kAllRows, 0};

// Each draws a heading and `seen` rows from `at.first` on, and highlights the row `at.cursor`.
std::vector<Line> KernelTable(const Model& model, Place at, std::size_t seen, const Canvas& canvas);
std::vector<Line> ClusterTable(const Model& model, Place at, std::size_t seen,
                               const Canvas& canvas);
std::vector<Line> ProcessTable(const Model& model, Place at, std::size_t seen,
                               const Canvas& canvas);

// Returns the lines above the clusters of the chosen kernel: its full name in at most `name_lines`
// lines (after its brief name, if it is mangled), its total time and its launch count. Empty if the
// overview does not contain the kernel.
std::vector<Line> ChosenKernel(const Model& model, std::size_t name_lines, const Canvas& canvas);

// Draws the screen in at most `height` lines of at most `width` columns. `unicode`: the locale has
// bar characters and an ellipsis.
Frame DrawScreen(Model& model, int width, int height, bool unicode);

// Returns everything as plain text in the model's order. Lines of unlimited width have whole names;
// otherwise names are as short as on the screen.
std::string Snapshot(const Model& model, bool unicode, std::size_t width = kUnlimitedWidth);

}  // namespace stemtap::ui
