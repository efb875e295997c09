// SPDX-License-Identifier: Apache-2.0
//
// The parts of an overview that take work: histograms that fit, slices of one width for all kernels, and
// the clusters of a plan.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/formats/overview.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/overview.h"
#include "model/plan.h"
#include "stats/log_sketch.h"
#include "stats/time_slices.h"

namespace stemtap {

// The bins of `sketch` that are not empty, joined two by two, as often as it takes to make them `most`.
// Edges of joined bins are edges of the sketch's. REQUIRES: most >= 59, the octaves of all durations.
std::vector<HistogramBin> JoinedBins(const LogSketch& sketch,
                                     std::size_t most = Overview::kMostBins);

// Fills in the slices of overview.kernels: `slices[i]` are those of overview.kernels[i], null: none. A
// kernel whose starts are years from those of the one launched most has none.
void SetSlices(std::span<const TimeSlices* const> slices, Overview& overview);

// Puts the clusters of `plan` in place of those of `overview`, which is of the same run, at its end; its
// bound, and how many are open and closed.
void TakeClusters(const Plan& plan, Overview& overview);

}  // namespace stemtap
