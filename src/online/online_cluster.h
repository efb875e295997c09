// SPDX-License-Identifier: Apache-2.0
//
// OnlineCluster is an interval of a kernel's cells with the state of its sampling.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online.md, docs/math/online-bound.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stats/moments.h"

namespace stemtap::online {

// Source is the credit line from which captures of a cluster are cheapest.
struct Source {
  // A cluster is predicted if at least this share of the line's launches falls into it.
  static constexpr double kPredicted = 0.5;

  std::size_t line = 0;
  double yield = 1.0;     // share of the line's launches that fall into the cluster, > 0
  double price_ns = 0.0;  // captured time per capture that falls into the cluster

  bool predicted() const { return yield >= kPredicted; }
};

struct OnlineCluster {
  std::uint32_t first_bin = 0;  // bins from here to the next cluster's first_bin
  std::uint32_t end_bin = 0;    // one past the last bin that contains a launch
  stats::Moments moments;       // as of the last allocation
  std::uint64_t captured = 0;   // by credit and not expired
  stats::Moments explored;      // exploratory captures, as of the last allocation
  std::uint64_t expired = 0;    // captures by credit, as of the last allocation
  double captured_ns = 0.0;     // of the captures by credit that have not expired
  std::uint64_t newest_capture = 0;  // launches of the kernel when the newest of them was made
  std::uint64_t target = 0;     // as of the last allocation
  std::uint64_t release = 0;    // maximum captures until the next allocation
  std::size_t line = 0;         // line that launches predicted for this cluster are offered to
  Source source;                // as of the last cut or allocation
  // Launches of the cluster when it began to wait for its next capture; 0 if it needs none.
  std::uint64_t waiting_since = 0;
  bool unreachable = false;  // no capture, and one would cost more than it is worth
  bool closed = false;
  // The value of `captured` when a capture beyond the target was last charged. Such a capture is
  // charged once, for however long it is in flight.
  std::uint64_t supplemented_at = ~std::uint64_t{0};

  // `launches`: of the kernel, when the capture was made.
  void AddCapture(std::uint64_t duration_ns, std::uint64_t launches) {
    ++captured;
    captured_ns += static_cast<double>(duration_ns);
    newest_capture = std::max(newest_capture, launches);
  }
  // Returns the number of random captures that represent the cluster. Expired captures count only
  // if there are no others.
  std::uint64_t representing() const { return captured > 0 ? captured : expired; }
  // Returns the captured time per capture of the cluster.
  double price_ns() const { return std::max(source.price_ns, moments.mean()); }
  bool has_enough() const { return captured >= std::max<std::uint64_t>(target, 1); }
};

}  // namespace stemtap::online
