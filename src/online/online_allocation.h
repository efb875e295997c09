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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "online/cluster.h"
#include "online/collapse.h"
#include "online/kernel_sketch.h"
#include "sampling/design.h"
#include "sampling/sampling_options.h"

namespace stemtap::online {

// AllocationSchedule decides when Allocator allocates samples and when it compares cuts. It
// depends on counts and times of launches only, never on the clock.
//
// THREADS: none.  SOURCE: docs/math/online.md, "When decisions fall".
class AllocationSchedule {
 public:
  // Decides whether an allocation is due after `observed` launches with a total time of
  // `duration_ns`.
  void Advance(std::uint64_t observed, std::uint64_t duration_ns) {
    due_ = observed >= next_ || duration_ns >= next_ns_;
  }
  bool due() const { return due_; }

  // Sets when the next allocation is due. `first_release`: an allocation is also due at this number
  // of launches, unless it has passed.
  void SetNext(std::uint64_t observed, std::uint64_t duration_ns, std::uint64_t first_release) {
    next_ = observed + (observed >> growth_shift_) + 1;
    next_ns_ = duration_ns + (duration_ns >> growth_shift_) + 1;
    if (observed < first_release) next_ = std::min(next_, first_release);
  }

  // From now on, allocations are due four times as often if `often`.
  void SetOften(bool often) { growth_shift_ = often ? kOftenShift : kGrowthShift; }

  // Whether the last comparison of cuts is so old that cuts must be compared again.
  bool AreCutsOld(std::uint64_t observed) const { return observed >= kCutGrowth * cuts_at_; }
  void SetCutsCompared(std::uint64_t observed) { cuts_at_ = observed; }

 private:
  // Samples are allocated again when the observations or their time have grown by an eighth.
  // Targets change slowly, and the cost, which is proportional to the number of clusters, is
  // constant per observation. Launches that become much longer late in a run show in the time
  // first: with the count only, a mode with 44 % of the time ended without a capture.
  static constexpr std::uint64_t kGrowthShift = 3;
  // A run that follows a Director reports and asks at each allocation. What it is asked to capture
  // is decided by others at their own allocations, so it would capture and report an eighth later.
  static constexpr std::uint64_t kOftenShift = 5;
  // Cuts are compared at the latest when the number of observations has grown by this factor. An
  // older cut is based on few launches, many of which were captured. Those launches avoid the gap
  // at the cut, later launches do not: estimates of 24 unpredictable kernels were 0.8 % low.
  static constexpr std::uint64_t kCutGrowth = 2;

  std::uint64_t growth_shift_ = kGrowthShift;
  std::uint64_t next_ = 0;     // launches
  std::uint64_t next_ns_ = 0;  // time of the launches
  std::uint64_t cuts_at_ = 0;  // launches observed at the last comparison of cuts
  bool due_ = false;
};

// KernelFacts is a view of one kernel.
struct KernelFacts {
  std::span<const Cluster> clusters;
  double explored_ns = 0.0;               // time of the exploratory captures
  std::span<const std::uint64_t> begins;  // launches before each period (KernelPeriods)
  const BinnedCells* cells = nullptr;     // not null for Allocator
  std::uint32_t range = 0;                // number of its range, for BoundScope::kRange
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
  // Cost of the samples of the best cut, by kernel; kernels may be newer than that cut. Used only
  // for BoundScope::kRange, where 1 ns of bias is worth more in a range that takes less time.
  std::span<const double> planned_of = {};

  // Returns the value of 1 ns of bias in captured time. If the planned captures buy the whole error
  // bound, each part of the bound costs its share.
  double BiasWorth(double error_bound) const { return planned_ns / (error_bound * duration_ns); }
};

// Joins the clusters of a kernel without captures to others. `bias_ns`: see JoinStrata.
std::vector<JointStratum> JoinClusters(std::span<const Cluster> clusters, CountedCaptures counted,
                                       double& bias_ns);

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

// Returns what the samples of a kernel's cut cost, without strata that are sampled completely.
// `fixed_ns`: CapturePrice::FixedPerFactor.
double CostOf(std::span<const sampling::StratumRange> cut, double fixed_ns);

// Returns the number of the range of each kernel.
std::vector<std::uint32_t> RangesOf(std::span<const KernelFacts> kernels);

// Returns whether the captures so far meet the error bound.
bool MeetsBound(std::span<const KernelFacts> kernels, const sampling::SamplingOptions& options);

// Returns the bound of the total, of all captures so far, as a time.
double BoundOf(std::span<const KernelFacts> kernels, const sampling::SamplingOptions& options);

// Returns the greatest relative bound of a range; 0 if no kernel has launches.
double GreatestRangeBound(std::span<const KernelFacts> kernels,
                          const sampling::SamplingOptions& options);

// Returns how many captures a plan of the launches so far needs of each cluster, in order, as if
// none had been made (Decision::enough).
std::vector<std::uint64_t> EnoughCaptures(std::span<const KernelFacts> kernels,
                                          const sampling::SamplingOptions& options);

// Returns the targets of the clusters of all kernels, in order: the captures that meet the error
// bound for the launches so far, and captures of clusters whose captures are from so early in the
// run that a metric that changes during the run would be estimated badly.
std::vector<Decision> AllocateTargets(std::span<const KernelFacts> kernels,
                                      const AllocationState& state,
                                      const sampling::SamplingOptions& options);

}  // namespace stemtap::online
