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
#include "online/kernel_sketch.h"
#include "stats/log_sketch.h"

namespace stemtap::online {

// Capture is a capture by credit, and the number of launches of its kernel when its record arrived.
struct Capture {
  CapturedLaunch launch;
  std::uint64_t launches = 0;
  // The capture was early and its cluster has drifted since. It represents its cluster only if
  // there is no other capture.
  bool expired = false;
};

// CaptureExpiry decides which captures of a kernel are too early to represent their clusters. It
// does not use the durations of the captures.
class CaptureExpiry {
 public:
  // Marks the early captures of clusters that have drifted. `bound_ns` is the error bound of the
  // kernel. `captures` are in order of `launches`.
  void Update(const stats::LogSketch& durations, const KernelClusters& clusters, double bound_ns,
              std::vector<Capture>& captures);

 private:
  std::vector<stats::LogSketch> earlier_;  // at the latest doublings of launches, oldest first
};

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
  // Adds a settled capture by credit. `launches`: native launches of the kernel so far.
  void Add(const CapturedLaunch& launch, std::uint64_t launches) {
    by_credit_.push_back({launch, launches});
  }
  // Updates imputed durations and marks expired captures. `error_bound` is a ratio.
  void Update(const KernelSketch& sketch, const KernelClusters& clusters, double error_bound);
  // Adds the captures to their clusters.
  void CountIn(KernelClusters& clusters) const;

  const std::vector<Capture>& by_credit() const { return by_credit_; }
  // One per process that launched the name before the gate table contained it.
  const std::vector<CapturedLaunch>& explored() const { return explored_; }
  std::uint64_t explored_ns() const { return explored_ns_; }

 private:
  std::vector<Capture> by_credit_;
  std::vector<CapturedLaunch> explored_;
  std::vector<CapturedLaunch> unsettled_;
  std::uint64_t explored_ns_ = 0;
  CaptureExpiry expiry_;
};

}  // namespace stemtap::online
