// SPDX-License-Identifier: Apache-2.0
//
// The metric columns of a profile that the methods read, by their names in Nsight Compute and
// nvprof. LoadMetrics finds the columns, derives metrics that the launch itself determines, and
// reports missing metrics in one line.
//
// UNITS: counts per launch, except kDivergenceEfficiency (any constant multiple of active threads
// per warp instruction).
//
// SOURCE: docs/formats/metrics.md.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap::research {

enum class Metric {
  kGlobalLoadSectors,
  kGlobalStoreSectors,
  kLocalLoadSectors,
  kGlobalLoads,
  kGlobalStores,
  kLocalLoads,
  kSharedLoads,
  kSharedStores,
  kGlobalAtomics,
  kInstructions,          // executed by warps
  kDivergenceEfficiency,  // active threads per instruction of a warp
  kBlocks,                // thread blocks of the grid; from the launch if there is no column
  // Executed by threads; kInstructions x kDivergenceEfficiency if there is no column.
  kThreadInstructions,
  kBlockThreads,    // threads of a block (the CTA size); from the launch, or a column
  kBlockVariation,  // coefficient of variation of the instructions of its thread blocks
};

struct MetricNames {
  Metric metric;
  const char* names[6];  // alternative columns; messages use the first; nullptr ends the list
};

// Returns every metric with its names, in enumeration order.
std::span<const MetricNames> AllMetricNames();

bool HasMetric(const model::Profile& profile, Metric metric);

struct MetricColumns {
  // In the requested order; one value per launch. Valid as long as the profile.
  std::vector<std::span<const double>> columns;
  std::deque<std::vector<double>> derived;  // storage for some of `columns`
};

// An error lists every missing metric, or reports the first launch without a value. Each metric of
// every launch that is not excluded must be known, not negative, and below 2^63. `method` is the
// first word of the message.
Result<MetricColumns> LoadMetrics(const MethodInput& input, const char* method,
                                  std::span<const Metric> metrics);

}  // namespace stemtap::research
