// SPDX-License-Identifier: Apache-2.0
//
// The release policies of the online sampler: how many of the captures that a cluster needs may be
// made now, and which launches may spend the credits.
//
//   ReleaseSchedule   how many of the planned captures may be made at the beginning of a run
//   CreditsOfLines    converts what the clusters of a kernel need into credits
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online.md, findings 2 to 4;
// docs/math/online-bound.md, "What is random" and "Credit lines".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "online/cluster.h"

namespace stemtap::online {

// ReleaseSchedule releases a fifth of the planned captures with each doubling of the observations,
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

  // Returns the share of the planned captures that is released, > 0.
  double ShareAt(std::uint64_t observed) const;

 private:
  std::uint64_t first_release_;
};

// LineCredits is the number of open credits of a line and the draws that may spend them
// (shm::AcceptOf).
struct LineCredits {
  std::uint32_t credits = 0;
  std::uint32_t accept = 0;
};

// Pace is how soon the captures of a cluster are made.
enum class Pace : std::uint8_t {
  kFirst,   // the launches have not doubled since the first captures were released
  kSpread,  // the captures so far meet the error bound, so further ones are spread over the run
  kUrgent,  // they do not, and the run may end at any time
};

// Begins the wait of each cluster of a kernel that needs a capture and ends the wait of the others.
void UpdateWaits(std::span<Cluster> clusters);

// Returns the credits of each line of a kernel: as many as its neediest cluster needs. A cluster
// that is predicted gets no credits for captures that may fall beside it; its next credit is
// granted when the capture has returned. `offered`: launches offered to each line so far. `burst`:
// consecutive launches with the information of one (stats::SerialCorrelation::Length), whose
// captures are spread. REQUIRES: UpdateWaits has been called since the clusters changed.
std::vector<LineCredits> CreditsOfLines(std::span<const Cluster> clusters,
                                        std::span<const double> offered, Pace pace,
                                        double burst = 1.0);

}  // namespace stemtap::online
