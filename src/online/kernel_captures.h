// SPDX-License-Identifier: Apache-2.0
//
// KernelCaptures is the captures of one kernel.
//
// The first launch of a kernel name is always captured (an exploratory capture), so it is not a
// random draw: clocks and caches are cold, and its duration differs by 10 to 25 %
// (docs/math/online.md, finding 4). It forms a separate stratum whose time is known exactly and is
// not part of the sketch or of the clusters. It represents a cluster only if no random capture does
// (JoinStrata).
//
// THREADS: none.  UNITS: ns.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "online/kernel_clusters.h"
#include "online/kernel_periods.h"
#include "online/kernel_sketch.h"

namespace stemtap::online {

class KernelCaptures {
 public:
  // Adds a capture whose record has arrived.
  void Observe(const CapturedLaunch& launch) {
    unsettled_.push_back(launch);
    if (!launch.explored()) return;
    explored_.push_back(launch);
    explored_ns_ += launch.sample.record.duration_ns;
  }
  // Returns the captures since the last call. They are not settled with the gate yet.
  std::vector<CapturedLaunch> TakeUnsettled() { return std::exchange(unsettled_, {}); }
  // Adds a settled capture by credit.
  void Add(const CapturedLaunch& launch) { by_credit_.push_back(launch); }
  // Updates imputed durations.
  void Impute(const KernelSketch& sketch);
  // Adds the captures to their clusters. REQUIRES: the periods of the clusters are up to date.
  void CountIn(KernelClusters& clusters, const KernelPeriods& periods) const;

  const std::vector<CapturedLaunch>& by_credit() const { return by_credit_; }
  // One per process that launched the name before the gate table contained it.
  const std::vector<CapturedLaunch>& explored() const { return explored_; }
  std::uint64_t explored_ns() const { return explored_ns_; }

 private:
  std::vector<CapturedLaunch> by_credit_;
  std::vector<CapturedLaunch> explored_;
  std::vector<CapturedLaunch> unsettled_;
  std::uint64_t explored_ns_ = 0;
};

}  // namespace stemtap::online
