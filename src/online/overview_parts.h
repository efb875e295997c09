// SPDX-License-Identifier: Apache-2.0
//
// Helpers that compute the expensive parts of an overview: histograms of limited size, time slices
// of equal width for all kernels, and the clusters of a plan.
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

namespace stemtap::online {

// Returns the non-empty bins of `sketch`. Pairs of bins are merged repeatedly until at most
// `max_bins` are left, so the edges of merged bins are edges of the sketch. REQUIRES: max_bins >=
// 59, the number of octaves of all durations.
std::vector<model::HistogramBin> JoinedBins(const stats::LogSketch& sketch,
                                            std::size_t max_bins = model::Overview::kMaxBins);

// Sets the slices of overview.kernels. `slices[i]` belongs to overview.kernels[i]; null means no
// slices. A kernel gets no slices if its start times are years away from the start times of the
// kernel with most launches.
void SetSlices(std::span<const stats::TimeSlices* const> slices, model::Overview& overview);

// Replaces the clusters, the bound, and the numbers of open and closed clusters of `overview` by
// the values of `plan`. REQUIRES: both are from the end of the same run.
void TakeClusters(const model::Plan& plan, model::Overview& overview);

}  // namespace stemtap::online
