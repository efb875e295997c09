// SPDX-License-Identifier: Apache-2.0
//
// The tables, headings first. Of each `seen` rows are drawn from `at.first` on, the one that is `at.cursor`
// as the cursor's: only rows that are seen are made into text.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "ui/top/canvas.h"
#include "ui/top/model.h"

namespace stemtap::top {

// All rows of a table, and none of them under a cursor.
inline constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();
inline constexpr Place kNoCursor = {kAllRows, 0};

std::vector<Line> KernelTable(const Model& model, Place at, std::size_t seen, const Canvas& canvas);
std::vector<Line> ClusterTable(const Model& model, Place at, std::size_t seen,
                               const Canvas& canvas);
std::vector<Line> ProcessTable(const Model& model, Place at, std::size_t seen,
                               const Canvas& canvas);

// What stands above the clusters of the chosen kernel: its whole name, in at most `name_lines` lines,
// before it the brief one of one that is mangled, and how long it took how often. None where it is not there.
std::vector<Line> ChosenKernel(const Model& model, std::size_t name_lines, const Canvas& canvas);

}  // namespace stemtap::top
