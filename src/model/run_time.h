// SPDX-License-Identifier: Apache-2.0
//
// RunTime is the sum of the durations of a run, which must fit 63 bits: the one limit behind every
// 64-bit sum of durations, per kernel, device, slice or plan. Profile readers refuse a run that
// exceeds it; the engine leaves out a launch that does.
//
// THREADS: none.  UNITS: ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace stemtap {

class RunTime {
 public:
  // 292 years. The limit of one duration in a profile too, so a single launch always fits.
  static constexpr std::uint64_t kMaxNs = std::numeric_limits<std::int64_t>::max();

  // Adds a launch. Returns false, and adds nothing, if the sum would exceed kMaxNs.
  bool Add(std::uint64_t duration_ns) {
    return Set(native_ns_ + duration_ns, perturbed_, duration_ns);
  }

  // The same for a launch that will count with a mean of other launches, which no launch of the run
  // exceeds: every such launch is charged with the longest duration.
  bool AddPerturbed(std::uint64_t recorded_ns) {
    return Set(native_ns_, perturbed_ + 1, recorded_ns);
  }

 private:
  __extension__ using Sum = unsigned __int128;

  bool Set(Sum native_ns, std::uint64_t perturbed, std::uint64_t duration_ns) {
    const std::uint64_t longest_ns = std::max(longest_ns_, duration_ns);
    if (native_ns + Sum{perturbed} * longest_ns > kMaxNs) return false;
    native_ns_ = native_ns;
    perturbed_ = perturbed;
    longest_ns_ = longest_ns;
    return true;
  }

  Sum native_ns_ = 0;
  std::uint64_t perturbed_ = 0;
  std::uint64_t longest_ns_ = 0;
};

}  // namespace stemtap
