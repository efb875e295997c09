// SPDX-License-Identifier: Apache-2.0
//
// KernelPeriods divides the run of one kernel into periods. The first period ends before the first
// capture, because none of its launches could be captured. Every other period ends when the
// launches have grown by a quarter octave since it began, or earlier when its captures are in its
// middle: durations may drift within a period, and then early captures do not show it. Which
// launches a capture may represent is decided by period: a capture that was made early does not
// have to represent a run that has grown since.
//
//   launches   0             1,000    1,189     1,414       1,682        2,000          2,378
//              ├── period 0 ──┼─ period 1 ┼─ period 2 ┼── period 3 ──┼── period 4 ──┼─ period 5 ─┤
//                first capture ▲
//
// A position is the 1-based number of a launch among the launches of its kernel that are in the
// sketch. If captures perturb launches, the cluster of a launch is not known from its duration, and
// the run is a single period.
//
// THREADS: none.  SOURCE: docs/math/online-bound.md, "Periods".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "online/cluster.h"
#include "online/kernel_sketch.h"
#include "stats/log_sketch.h"

namespace stemtap::online {

// MEMBERS: the periods that have ended, what ends the current one, and the counts by period and
// cluster.
class KernelPeriods {
 public:
  // Reports a capture by credit. Period 0 ends at the last update before the first capture, so that
  // its launches are not taken for launches that could have been captured.
  void AddCapture(const Capture& launch);
  // Reports that further launches of the kernel were observed, the first and last of which have
  // these launch indices.
  void AddLaunches(std::uint64_t first_index, std::uint64_t last_index);
  // Remembers the launches so far if the captures of the current period are in its middle. The
  // period ends there at the next update. Looks again only when the period has grown.
  void Watch(const KernelSketch& sketch);
  // Ends the current period if the launches have grown enough since it began.
  void Update(const KernelSketch& sketch);
  // Sets the periods of all clusters, without captures. REQUIRES: the moments of the clusters are
  // up to date.
  void CountIn(KernelClusters& clusters);

  std::size_t size() const { return ended_.size() + 1; }
  // Returns the period that contains `position`.
  std::size_t PeriodOf(std::uint64_t position) const;
  // Returns the middle of the launch indices of a period, which is their mean if the kernel is
  // launched at a steady rate.
  double MeanIndex(std::size_t period) const;
  // Returns the launch index of the last launch.
  std::uint64_t last_index() const { return last_indices_.back(); }
  // Returns the number of launches before each period.
  const std::vector<std::uint64_t>& begins() const { return begins_; }
  // Returns the cells of a period whose bins are in [first_bin, end_bin).
  sampling::KernelCells Cells(std::size_t period, const KernelSketch& sketch,
                              std::uint32_t first_bin, std::uint32_t end_bin) const;

 private:
  static constexpr std::uint64_t kNoIndex = ~std::uint64_t{0};

  struct Snapshot {
    stats::LogSketch launches;
    std::uint64_t last_index = 0;
  };

  void EndPeriod(const stats::LogSketch& launches);
  // Ends the current period at an earlier moment.
  void EndPeriodAt(const Snapshot& snapshot);
  bool AreCapturesInTheMiddle(const stats::LogSketch& launches) const;

  std::vector<stats::LogSketch> ended_;      // the launches of each period that has ended
  std::vector<std::uint64_t> begins_ = {0};  // ascending, one per period
  // Launch index of the kernel's first launch, and of the last one of each period.
  std::uint64_t first_index_ = kNoIndex;
  std::vector<std::uint64_t> last_indices_ = {0};
  stats::LogSketch before_;  // all launches before the current period
  bool has_capture_ = false;
  // Until the first capture: all launches as of the last two updates.
  Snapshot latest_;
  Snapshot previous_;
  std::vector<LaunchPlace> captures_;  // in the current period, the first kMaxWatched
  std::uint64_t watch_at_ = 0;         // launches at which Watch looks again
  std::optional<Snapshot> middle_;     // where the current period ends at the next update
  // What CountIn computed for the periods that have ended, by cluster, and the cut that it is for.
  std::vector<std::vector<stats::Moments>> counted_;
  std::vector<std::uint32_t> counted_cut_;
};

}  // namespace stemtap::online
