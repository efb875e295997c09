// SPDX-License-Identifier: Apache-2.0
//
// LogSketch is a histogram of durations on a logarithmic axis. Each bin stores exact moments, so
// the moments of any range of bins are exact; only the positions of cuts are quantized.
//
//   duration 6,112 ns:  octave [4096, 8192), 64 parts of 64 ns, part 31 -> bin [6080, 6144),
//                       offset 32
//
// Every octave is divided into 64 equal parts: the width of a bin is 0.8 to 1.6 % of its value.
// Durations below 64 ns have one bin each. A bin contains only integers (count, sum of offsets, sum
// of squared offsets), which gives the
//   GUARANTEE  Merge is exact: any split of a stream, merged in any order, gives the same sketch,
//   bit for bit.
//
// Memory: one dense array from the shortest to the longest bin seen, plus up to 16 bins of slack at
// each end. 32 bytes per bin, 2 KiB per octave. There are 3,776 distinct bins.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/sketch.md.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/moments.h"

namespace stemtap::stats {

__extension__ using uint128 = unsigned __int128;

class LogSketch {
 public:
  // 64 parts per octave. More parts cost memory and clustering time; fewer parts misplace cuts. At
  // 1.6 %, the variance that a misplaced cut adds to a stratum is far below the share of one
  // sample.
  static constexpr std::uint32_t kPartBits = 6;
  static constexpr std::uint32_t kParts = 1u << kPartBits;
  static constexpr std::uint32_t kEndBin = 3776;  // one past the last bin

  struct Bin {
    std::uint64_t count = 0;
    std::uint64_t offset_sum = 0;   // sum of (duration - lower edge)
    uint128 offset_square_sum = 0;  // sum of (duration - lower edge)^2
  };

  // BinOf returns the bin of `duration`, LowerEdge the shortest duration of `bin`:
  // LowerEdge(BinOf(d)) <= d < LowerEdge(BinOf(d) + 1).
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

  // Adds one launch. Returns its bin.
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
  // Adds the launches of `more` to `bin`. REQUIRES: bin < kEndBin; the total fits 128 bits.
  void AddBin(std::uint32_t bin, const Bin& more);
  // Returns the launches that were added after the sketch was copied to `earlier`.
  LogSketch Since(const LogSketch& earlier) const;

  std::uint64_t count() const { return count_; }
  uint128 total_duration() const { return total_; }

  // All bins from the first to the last: bins()[i] is bin first_bin() + i. Empty if nothing was
  // added.
  std::span<const Bin> bins() const { return bins_; }
  std::uint32_t first_bin() const { return first_; }
  // Returns the number of launches in the bins [first, end).
  std::uint64_t CountIn(std::uint32_t first, std::uint32_t end) const;

  // Returns the moments of the launches in the bins [first, end).
  Moments MomentsIn(std::uint32_t first, std::uint32_t end) const;
  // Returns the moments of the launches in `bin`.
  // REQUIRES: first_bin() <= bin < first_bin() + bins().size().
  Moments BinMoments(std::uint32_t bin) const;
  // Returns the exact moments of all launches.
  Moments All() const;

 private:
  Bin& Touch(std::uint32_t bin) {
    const std::uint32_t at = bin - first_;  // wraps to a huge value if bin < first_
    if (at < bins_.size()) return bins_[at];
    return GrowTo(bin);
  }
  Bin& GrowTo(std::uint32_t bin);

  std::uint32_t first_ = 0;
  std::vector<Bin> bins_;
  std::uint64_t count_ = 0;
  uint128 total_ = 0;
};

}  // namespace stemtap::stats
