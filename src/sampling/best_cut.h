// SPDX-License-Identifier: Apache-2.0
//
// BestCut solves 2-means in one dimension exactly: it finds the cut of a sorted sequence of cells
// that minimizes the sum of squares within the two parts. A cell is one duration or one bin of a
// sketch.
//
// Minimizing the squares within the parts is the same as maximizing nL nR / n (mean_L - mean_R)^2.
// This form needs only counts and sums, so it stays precise for long durations that are close
// together.
// SOURCE: docs/math/root.md.
#pragma once

#include <cstddef>
#include <span>

#include "stats/moments.h"

namespace stemtap::sampling {

// Returns the number of cells in the left part, 1 .. cells.size() - 1, or 0 for fewer than two
// cells. Ties go to the leftmost cut. REQUIRES: cells are non-empty and in ascending order of their
// means.
std::size_t BestCut(std::span<const stats::Moments> cells);

}  // namespace stemtap::sampling
