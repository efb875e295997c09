// SPDX-License-Identifier: Apache-2.0
//
// BestCut solves 2-means in one dimension exactly: of all ways to cut a sorted row of cells in two, the
// one with the least sum of squares within the parts. A cell is one duration, or one bin of a sketch.
//
// Least within is most between: nL nR / n (mean_L - mean_R)^2, which needs counts and sums only, not
// sums of squares, and so keeps its precision where durations are long and close together.
// SOURCE: docs/math/root.md.
#pragma once

#include <cstddef>
#include <span>

#include "stats/moments.h"

namespace stemtap {

// How many cells go left, 1 .. cells.size() - 1; 0 if there is nothing to cut (fewer than two cells).
// Ties go to the leftmost cut. REQUIRES: cells are non-empty and their means ascend.
std::size_t BestCut(std::span<const Moments> cells);

}  // namespace stemtap
