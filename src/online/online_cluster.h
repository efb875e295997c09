// SPDX-License-Identifier: Apache-2.0
//
// OnlineCluster is an interval of a kernel's cells with the state of its sampling.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online.md, docs/math/online-bound.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stats/moments.h"

namespace stemtap::online {

// Source is the credit line from which captures of a cluster are cheapest.
struct Source {
  // A cluster is predicted if at least this share of the line's launches falls into it.
  static constexpr double kPredicted = 0.5;

  std::size_t line = 0;
  double yield = 1.0;     // share of the line's launches that fall into the cluster, > 0
  double price_ns = 0.0;  // cost per capture that falls into the cluster (CapturePrice)

  bool predicted() const { return yield >= kPredicted; }
};

// ClusterPeriod is the launches of a cluster in one period (kernel_periods.h) and their captures.
struct ClusterPeriod {
  stats::Moments launches;     // as of the last allocation
  std::uint64_t captured = 0;  // by credit
  double positions = 0.0;      // sum of the positions of these captures
};

struct OnlineCluster {
  std::uint32_t first_bin = 0;  // bins from here to the next cluster's first_bin
  std::uint32_t end_bin = 0;    // one past the last bin that contains a launch
  stats::Moments moments;       // as of the last allocation
  std::uint64_t captured = 0;   // by credit
  stats::Moments explored;      // exploratory captures, as of the last allocation
  std::vector<ClusterPeriod> periods;  // of the kernel; the last one has not ended
  // Captures that a plan of these launches needs. The newest captures that are so many represent
  // the whole cluster; earlier ones are not used. Depends on durations only.
  std::uint64_t enough = 1;
  std::uint64_t target = 0;     // as of the last allocation; 0: no capture may be made
  std::size_t line = 0;         // line that launches predicted for this cluster are offered to
  Source source;                // as of the last cut or allocation
  // Launches of the cluster when it began to wait for its next capture; 0 if it needs none.
  std::uint64_t waiting_since = 0;
  bool unreachable = false;  // no capture, and one would cost more than it is worth
  bool closed = false;

  // Adds a capture of the launch at `position`, which is in `period`.
  void AddCapture(std::size_t period, std::uint64_t position) {
    ++captured;
    ++periods[period].captured;
    periods[period].positions += static_cast<double>(position);
  }
  // Returns the cost per capture of the cluster.
  double price_ns() const { return std::max(source.price_ns, moments.mean()); }
  bool has_enough() const { return captured > 0 && captured >= target; }
};

}  // namespace stemtap::online
