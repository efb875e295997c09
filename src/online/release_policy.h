// SPDX-License-Identifier: Apache-2.0
//
// The release policies of the online sampler: how many of the captures that a cluster needs may be
// made now, and which launches may spend the credits.
//
//   ReleaseSchedule   spreads the captures of a cluster over the run
//   Supplements       adds captures to clusters whose captures differ from their mean
//   Renewals          adds captures to clusters whose captures are from early in the run
//   CreditsOfLines    converts what the clusters of a kernel need into credits
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online.md, findings 2 to 4;
// docs/math/online-bound.md, "What is random" and "Credit lines".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "online/online_cluster.h"

namespace stemtap::online {

// ReleaseSchedule releases a fifth of a cluster's target with each doubling of the observations,
// starting at the first release.
class ReleaseSchedule {
 public:
  // Captures by credit are made only after `observe_first` launches have been observed.
  explicit ReleaseSchedule(std::uint64_t observe_first);

  std::uint64_t first_release() const { return first_release_; }
  bool HasStarted(std::uint64_t observed) const { return observed >= first_release_; }
  // Whether to cut the kernels although nothing is released yet. Contexts predict clusters, and
  // captures are cheap only if contexts have learned.
  bool IsTimeToCut(std::uint64_t observed) const { return 2 * observed >= first_release_; }

  // Returns the share of each target that is released.
  double ShareAt(std::uint64_t observed) const;
  // Returns the released captures of a cluster, at least 1.
  static std::uint64_t Released(std::uint64_t target, double share);

 private:
  std::uint64_t first_release_;
};

// Supplements requests additional captures where captures differ from the known means.
class Supplements {
 public:
  // Raises the target of clusters that have their captures by one and releases it: of all clusters
  // that differ in the same direction if the plain estimate differs from the known total by a large
  // share of the error bound, for example because they were captured on the same cold clocks;
  // otherwise, once the bound is met (`bound_met`), of clusters that differ much. `clusters` are
  // the clusters of all kernels. `planned_ns`: captured time of the best cut. `bound_ns`: the error
  // bound.
  void Add(std::span<OnlineCluster* const> clusters, double planned_ns, double bound_ns,
           bool bound_met);

 private:
  double spent_ns_ = 0.0;
};

// LineCredits is the number of open credits of a line and the draws that may spend them
// (shm::AcceptOf).
struct LineCredits {
  std::uint32_t credits = 0;
  std::uint32_t accept = 0;
};

// Renewals requests further captures of clusters that matter and whose newest capture is old,
// because the launches of a run change. Their captures are made soon, so that captures come from
// all parts of the run. The decision depends on the durations of all launches and on when captures
// were made, never on the durations of captures.
class Renewals {
 public:
  // Raises the target of the clusters of a kernel by one and releases it. `launches`: of the kernel
  // so far. `planned_ns`: captured time of the best cut of all kernels. `bound_ns`: the error bound
  // of the run.
  void Add(std::span<OnlineCluster> clusters, std::uint64_t launches, double planned_ns,
           double bound_ns);

 private:
  double spent_ns_ = 0.0;
};

// Pace is how soon the captures of a cluster are made.
enum class Pace : std::uint8_t {
  kSpread,  // the captures so far meet the error bound, so further ones are spread over the run
  kUrgent,  // they do not, and the run may end at any time
};

// Begins the wait of each cluster of a kernel that needs a capture and ends the wait of the others.
void UpdateWaits(std::span<OnlineCluster> clusters);

// Returns the credits of each line of a kernel: as many as its neediest cluster needs. A cluster
// that is predicted gets no credits for captures that may fall beside it; its next credit is
// granted when the capture has returned. `offered`: launches offered to each line so far.
// REQUIRES: UpdateWaits has been called since the clusters changed.
std::vector<LineCredits> CreditsOfLines(std::span<const OnlineCluster> clusters,
                                        std::span<const double> offered, Pace pace);

}  // namespace stemtap::online
