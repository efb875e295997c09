// SPDX-License-Identifier: Apache-2.0
//
// Draws the tables, heading first. Each draws `seen` rows from `at.first` on and highlights the row
// `at.cursor`. Only visible rows are formatted.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "ui/top/canvas.h"
#include "ui/top/model.h"

namespace stemtap::ui {

// Draw all rows of a table, without a cursor.
inline constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();
inline constexpr Place kNoCursor = {kAllRows, 0};

std::vector<Line> KernelTable(const Model& model, Place at, std::size_t seen, const Canvas& canvas);
std::vector<Line> ClusterTable(const Model& model, Place at, std::size_t seen,
                               const Canvas& canvas);
std::vector<Line> ProcessTable(const Model& model, Place at, std::size_t seen,
                               const Canvas& canvas);

// Returns the lines above the clusters of the chosen kernel: its full name in at most `name_lines`
// lines (after its brief name, if it is mangled), its total time and its launch count. Empty if the
// overview does not contain the kernel.
std::vector<Line> ChosenKernel(const Model& model, std::size_t name_lines, const Canvas& canvas);

}  // namespace stemtap::ui
