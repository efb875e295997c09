// SPDX-License-Identifier: Apache-2.0
//
// The values of a metric on the samples of a cluster.
//
// UNITS: durations in ns, values in the metric's own unit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stemtap {

struct ObservedSample {
  double duration_ns = 0.0;  // native
  double value = 0.0;
};

struct ObservedCluster {
  std::size_t kernel = 0;  // the clusters of a kernel are adjacent, in ascending order of duration
  double count = 0.0;
  double mean_ns = 0.0;
  double stddev_ns = 0.0;  // population
  std::vector<ObservedSample> seen;
};

// One span per kernel.
std::vector<std::span<const ObservedCluster>> ByKernel(std::span<const ObservedCluster> clusters);

// Share of the launches that were not sampled.
double UnseenShare(const ObservedCluster& cluster);

// Coefficient of variation of the durations.
double RelativeWidth(const ObservedCluster& cluster);

}  // namespace stemtap
