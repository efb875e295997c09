// SPDX-License-Identifier: Apache-2.0
//
// ObservedCluster contains the values of a metric for the samples of a cluster.
//
// UNITS: durations in ns, values in the metric's own unit.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace stemtap::analysis {

struct ObservedSample {
  double duration_ns = 0.0;  // native
  double value = 0.0;
  bool in_domain = true;  // belongs to the part of the run whose total is estimated
  double position = 0.0;  // launch index / number of launches of the run
};

struct ObservedCluster {
  std::size_t kernel = 0;  // clusters of a kernel are adjacent, in ascending order of duration
  double count = 0.0;
  double mean_ns = 0.0;
  double stddev_ns = 0.0;  // population
  std::vector<ObservedSample> seen;
  // Mean position of the launches; NaN if the samples are equally likely to be any of them.
  double mean_position = std::numeric_limits<double>::quiet_NaN();
  double share = 1.0;   // share of the launches in the domain (domain.h)
  double mixing = 0.0;  // variance of the membership (0 or 1) of a launch in the domain
  bool pooled = false;  // contains launches of several kernels (model::PlanKernel::pooled)
};

// Returns one span per kernel.
std::vector<std::span<const ObservedCluster>> ByKernel(std::span<const ObservedCluster> clusters);

// Returns the share of the launches that were not sampled.
double UnseenShare(const ObservedCluster& cluster);

// Returns whether the cluster has one sample, which represents other launches too.
bool IsSingle(const ObservedCluster& cluster);

// Returns the log of a duration in ns; durations below 1 ns count as 1 ns.
double LogDuration(double duration_ns);

// Returns the coefficient of variation of the durations.
double RelativeWidth(const ObservedCluster& cluster);

}  // namespace stemtap::analysis
