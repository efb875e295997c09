// SPDX-License-Identifier: Apache-2.0
//
// AllocationSchedule decides when OnlineSampler allocates samples and when it compares cuts. It
// depends on counts and times of launches only, never on the clock.
//
// THREADS: none.  SOURCE: docs/math/online.md, "When decisions fall".
#pragma once

#include <algorithm>
#include <cstdint>

namespace stemtap::online {

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
    next_ = observed + (observed >> kGrowthShift) + 1;
    next_ns_ = duration_ns + (duration_ns >> kGrowthShift) + 1;
    if (observed < first_release) next_ = std::min(next_, first_release);
  }

  // Whether the last comparison of cuts is so old that cuts must be compared again.
  bool AreCutsOld(std::uint64_t observed) const { return observed >= kCutGrowth * cuts_at_; }
  void SetCutsCompared(std::uint64_t observed) { cuts_at_ = observed; }

 private:
  // Samples are allocated again when the observations or their time have grown by an eighth.
  // Targets change slowly, and the cost, which is proportional to the number of clusters, is
  // constant per observation. Launches that become much longer late in a run show in the time
  // first: with the count only, a mode with 44 % of the time ended without a capture.
  static constexpr std::uint64_t kGrowthShift = 3;
  // Cuts are compared at the latest when the number of observations has grown by this factor. An
  // older cut is based on few launches, many of which were captured. Those launches avoid the gap
  // at the cut, later launches do not: estimates of 24 unpredictable kernels were 0.8 % low.
  static constexpr std::uint64_t kCutGrowth = 2;

  std::uint64_t next_ = 0;     // launches
  std::uint64_t next_ns_ = 0;  // time of the launches
  std::uint64_t cuts_at_ = 0;  // launches observed at the last comparison of cuts
  bool due_ = false;
};

}  // namespace stemtap::online
