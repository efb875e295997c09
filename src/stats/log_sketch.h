// SPDX-License-Identifier: Apache-2.0
//
// LogSketch is a histogram of durations on a logarithmic axis whose bins know their exact moments,
// so that the moments of any run of bins are exact and only where a cut falls is quantised.
//
//   duration 6,112 ns:  octave [4096, 8192), 64 parts of 64 ns, part 31 -> bin [6080, 6144),
//                       offset 32
//
// Every octave is divided into 64 equal parts: bins are 0.8 to 1.6 % wide relative to their value;
// durations below 64 ns have a bin each. A bin holds integers only (count, sum of offsets, sum of
// squared offsets), so that
//   GUARANTEE  Merge is exact: any split of a stream, merged in any order, gives the same sketch,
//   bit for bit.
//
// Memory is one dense array from the shortest to the longest bin seen: 32 bytes a bin, 2 KiB an
// octave; never more than 3,776 bins.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/sketch.md.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/moments.h"

namespace stemtap {

__extension__ using uint128 = unsigned __int128;

class LogSketch {
 public:
  // 64 parts an octave: finer costs memory and time at re-clustering, coarser costs cuts; at 1.6 %
  // the variance that a misplaced cut leaves in a stratum is far below what one sample's share
  // allows.
  static constexpr std::uint32_t kPartBits = 6;
  static constexpr std::uint32_t kParts = 1u << kPartBits;

  struct Bin {
    std::uint64_t count = 0;
    std::uint64_t offset_sum = 0;   // sum of (duration - lower edge)
    uint128 offset_square_sum = 0;  // sum of (duration - lower edge)^2
  };

  // The bin that `duration` falls in, and the shortest duration of a bin. LowerEdge(BinOf(d)) <= d
  // < LowerEdge(BinOf(d) + 1).
  static std::uint32_t BinOf(std::uint64_t duration) {
    if (duration < kParts) return static_cast<std::uint32_t>(duration);
    const auto shift = static_cast<std::uint32_t>(std::bit_width(duration)) - 1 - kPartBits;
    return (shift << kPartBits) + static_cast<std::uint32_t>(duration >> shift);
  }
  static std::uint64_t LowerEdge(std::uint32_t bin) {
    if (bin < 2 * kParts) return bin;
    const std::uint32_t shift = (bin >> kPartBits) - 1;
    return (std::uint64_t{kParts} + (bin & (kParts - 1))) << shift;
  }

  // Counts one invocation; the bin it fell into.
  std::uint32_t Add(std::uint64_t duration) {
    const std::uint32_t bin = BinOf(duration);
    Bin& b = Touch(bin);
    const std::uint64_t offset = duration - LowerEdge(bin);
    ++b.count;
    b.offset_sum += offset;
    b.offset_square_sum += static_cast<uint128>(offset) * offset;
    ++count_;
    total_ += duration;
    return bin;
  }

  void Merge(const LogSketch& other);

  std::uint64_t count() const { return count_; }
  uint128 total_duration() const { return total_; }

  // The bins, dense: bins()[i] is bin first_bin() + i. Empty when nothing was added.
  std::span<const Bin> bins() const { return bins_; }
  std::uint32_t first_bin() const { return first_; }

  // Moments of the invocations in bin `bin`. REQUIRES: first_bin() <= bin < first_bin() +
  // bins().size().
  Moments BinMoments(std::uint32_t bin) const;
  // Moments of all invocations, exact as the bins are.
  Moments All() const;

 private:
  Bin& Touch(std::uint32_t bin) {
    const std::uint32_t at = bin - first_;  // wraps to a huge value when bin < first_
    if (at < bins_.size()) return bins_[at];
    return GrowTo(bin);
  }
  Bin& GrowTo(std::uint32_t bin);

  std::uint32_t first_ = 0;
  std::vector<Bin> bins_;
  std::uint64_t count_ = 0;
  uint128 total_ = 0;
};

}  // namespace stemtap
