// SPDX-License-Identifier: Apache-2.0
//
// RunTime is the sum of the durations of a run, limited to 63 bits. Because of this limit, 64-bit
// sums of durations per kernel, device, slice or plan do not overflow. Profile readers reject a run
// that exceeds the limit; the engine skips a launch that would exceed it.
//
// THREADS: none.  UNITS: ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace stemtap::model {

class RunTime {
 public:
  // 292 years. Also the maximum of one duration in a profile, so a single launch always fits.
  static constexpr std::uint64_t kMaxNs = std::numeric_limits<std::int64_t>::max();

  // Adds a launch. Returns false and adds nothing if the sum would exceed kMaxNs.
  bool Add(std::uint64_t duration_ns) {
    return Set(native_ns_ + duration_ns, perturbed_, duration_ns);
  }

  // Like Add, for a launch whose duration will be imputed with a mean of other launches. The mean
  // is not yet known, so each such launch counts with the longest duration of the run, an upper
  // bound.
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

}  // namespace stemtap::model
