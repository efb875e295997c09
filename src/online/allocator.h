// SPDX-License-Identifier: Apache-2.0
//
// Allocator decides, again and again during a run, into which clusters the kernels are cut and how
// many captures each cluster should get:
//
//   Advance ─► due() ─► Cut ─► (the caller applies the cuts) ─► Decide ─► SetNext
//
// It reads facts and changes nothing. The same facts in the same order give the same decisions, for
// any `parallel`.
//
// THREADS: one caller.  UNITS: ns.  SOURCE: docs/math/online.md, "When decisions fall" and "What is
// still missing".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "online/cluster.h"
#include "online/kernel_sketch.h"
#include "online/online_allocation.h"
#include "online/release_policy.h"
#include "sampling/design.h"
#include "sampling/sampling_options.h"

namespace stemtap::online {

// Facts is a view of all kernels of a run. A kernel without launches has no cells.
struct Facts {
  std::vector<KernelFacts> kernels;
  std::uint64_t observed = 0;     // launches
  std::uint64_t duration_ns = 0;  // of these launches
};

// Cuts is the result of a comparison of cuts.
struct Cuts {
  struct Recut {
    std::size_t kernel = 0;
    std::vector<std::size_t> first_cells;  // of the new clusters
  };
  sampling::Design best;
  std::vector<Recut> recuts;  // kernels whose present cut is much worse than the best
};

class Allocator {
 public:
  // Captures by credit are made only after `observe_first` launches have been observed.
  Allocator(const sampling::SamplingOptions& options, std::uint64_t observe_first)
      : options_(options), releases_(observe_first) {}

  // Decides whether an allocation is due after `observed` launches with a total time of
  // `duration_ns`, and after an allocation, when the next one is.
  void Advance(std::uint64_t observed, std::uint64_t duration_ns) {
    schedule_.Advance(observed, duration_ns);
  }
  bool due() const { return schedule_.due(); }
  // From now on, allocations are due more often, as a run needs that follows a Director.
  void SetOften(bool often) { schedule_.SetOften(often); }
  void SetNext(std::uint64_t observed, std::uint64_t duration_ns) {
    schedule_.SetNext(observed, duration_ns, releases_.first_release());
  }

  // Reports that no further launch can be captured. From now on, cuts and targets stay as they are.
  void EndCaptures() { captures_ended_ = true; }
  bool captures_ended() const { return captures_ended_; }

  // Compares cuts while captures are missing, or if the last comparison is old, and sets the pace.
  // REQUIRES: Decision::enough is up to date.
  Cuts Cut(const Facts& facts, const ParallelFor& parallel);
  // Compares cuts now.
  Cuts CompareCuts(const Facts& facts, const ParallelFor& parallel);
  // Returns the decisions about all clusters, in order. `cuts` is the result of Cut. REQUIRES: its
  // recuts are applied in `facts`, and Decision::enough is up to date.
  std::vector<Decision> Decide(const Facts& facts, const Cuts& cuts) const;

  // How soon the captures of the last decisions are made.
  Pace pace() const { return pace_; }

 private:
  // Whether Method::kStem sets the sizes. Its sizes do not depend on captures.
  bool IsSizedByRule(const Facts& facts) const;
  bool MustCompareCuts(const Facts& facts) const;

  sampling::SamplingOptions options_;
  AllocationSchedule schedule_;
  ReleaseSchedule releases_;
  Pace pace_ = Pace::kSpread;
  bool is_met_ = false;             // the captures so far meet the error bound
  double planned_ns_ = 0.0;         // cost of the samples of the last best cut
  std::vector<double> planned_of_;  // the same by kernel
  double multiplier_ = 0.0;         // price at the end of the last search for strata
  bool captures_ended_ = false;
};

}  // namespace stemtap::online
