// SPDX-License-Identifier: Apache-2.0
//
// The metric columns of a profile that the methods read, by the names that Nsight Compute and,
// before it, nvprof give them. LoadMetrics finds them, fills in what the launch itself tells, and
// says in one line what is missing.
//
// UNITS: counts per invocation, except kDivergenceEfficiency (any constant multiple of active
// threads per warp instruction).
//
// SOURCE: docs/formats/metrics.md.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap {

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
  kBlocks,                // thread blocks of the grid; from the launch where there is no column
  kThreadInstructions,  // executed by threads; kInstructions x kDivergenceEfficiency where there is
                        // none
  kBlockThreads,        // threads of a block (the CTA size); from the launch, or a column
  kBlockVariation,      // coefficient of variation of the instructions of its thread blocks
};

struct MetricNames {
  Metric metric;
  const char* names[6];  // any of these columns; messages use the first; nullptr: no more
};

// Every metric with its names, in the order of the enumeration.
std::span<const MetricNames> AllMetricNames();

bool HasMetric(const Profile& profile, Metric metric);

struct MetricColumns {
  // In the order asked for; one value per invocation. Valid as long as the profile.
  std::vector<std::span<const double>> columns;
  std::deque<std::vector<double>> derived;  // what some of them refer to
};

// An error names every metric that is missing, or the first invocation without a value: in every
// invocation that is not excluded each of them must be known, not negative, and below 2^63.
// `method` begins the message.
Result<MetricColumns> LoadMetrics(const MethodInput& input, const char* method,
                                  std::span<const Metric> metrics);

}  // namespace stemtap
