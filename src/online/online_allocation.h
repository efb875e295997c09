// SPDX-License-Identifier: Apache-2.0
//
// AllocateTargets decides how many captures each cluster needs. It depends on the clusters, the
// error target, and the numbers of captures so far, never on the durations of captures.
//
// All functions here are pure: same arguments, same result. An allocation has two parts, because
// the price of a capture depends on the cut: IsWorthCutting decides about the cut of each kernel,
// and AllocateTargets about the clusters of the new cuts.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online.md, "What is still missing";
// docs/math/online-bound.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "online/collapse.h"
#include "online/online_cluster.h"
#include "sampling/design.h"
#include "sampling/sampling_options.h"

namespace stemtap::online {

// ClustersView is a view of the clusters of one kernel.
struct ClustersView {
  std::span<const OnlineCluster> clusters;
  double explored_ns = 0.0;               // time of the exploratory captures
  std::span<const std::uint64_t> begins;  // launches before each period (KernelPeriods)
};

// CountedCaptures defines which captures represent a cluster.
enum class CountedCaptures {
  kCurrent,  // by credit: while the run lasts
  kAll,      // also exploratory ones, if there are no others: in the plan
};

// AllocationState is what the targets depend on besides the clusters.
struct AllocationState {
  double duration_ns = 0.0;  // of all launches
  double planned_ns = 0.0;   // cost of the samples of the best cut
  bool bound_met = false;    // by the captures so far; no cluster is then captured for the bound
  double share = 1.0;        // of the planned captures that may be made now, > 0 (ReleaseSchedule)

  // Returns the value of 1 ns of bias in captured time. If the planned captures buy the whole error
  // bound, each part of the bound costs its share.
  double BiasWorth(double error_bound) const { return planned_ns / (error_bound * duration_ns); }
};

// ClusterTarget is the result for one cluster. An unreachable cluster has no capture, and one would
// cost more than it is worth.
struct ClusterTarget {
  std::uint64_t target = 0;
  bool unreachable = false;
};

// Joins the clusters of a kernel without captures to others. `bias_ns`: see JoinStrata.
std::vector<JointStratum> JoinClusters(std::span<const OnlineCluster> clusters,
                                       CountedCaptures counted, double& bias_ns);

// Returns the moments of the cells from each of `first_cells` up to the next. `first_cells` are
// ascending and start with 0.
std::vector<stats::Moments> StrataFrom(sampling::CellsView cells,
                                       std::span<const std::size_t> first_cells);

// Returns whether a kernel whose clusters begin at the cells `current` must be cut into `best`. It
// depends only on durations, not on captures: otherwise, long launches without captures would share
// a cluster with short captured launches, and the estimate would be low.
bool IsWorthCutting(sampling::CellsView cells, std::span<const std::size_t> current,
                    std::span<const sampling::StratumRange> best,
                    const sampling::SamplingOptions& options);

// Returns what the samples of a cut cost, without strata that are sampled completely. `fixed_ns`:
// CapturePrice::FixedPerFactor.
double CostOf(const sampling::Design& cut, double fixed_ns);

// Returns whether the captures so far meet the error bound.
bool MeetsBound(std::span<const ClustersView> kernels, const sampling::SamplingOptions& options);

// Returns the bound of all captures so far, as a time.
double BoundOf(std::span<const ClustersView> kernels, const sampling::SamplingOptions& options);

// Returns how many captures a plan of the launches so far needs of each cluster, in order, as if
// none had been made (OnlineCluster::enough).
std::vector<std::uint64_t> EnoughCaptures(std::span<const ClustersView> kernels,
                                          const sampling::SamplingOptions& options);

// Returns the targets of the clusters of all kernels, in order: the captures that meet the error
// bound for the launches so far, and captures of clusters whose captures are from so early in the
// run that a metric that changes during the run would be estimated badly.
std::vector<ClusterTarget> AllocateTargets(std::span<const ClustersView> kernels,
                                           const AllocationState& state,
                                           const sampling::SamplingOptions& options);

// Returns the sizes of the strata of a cut, in order, as targets (Method::kStem).
std::vector<ClusterTarget> SizesOf(const sampling::Design& cut);

}  // namespace stemtap::online
