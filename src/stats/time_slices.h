// SPDX-License-Identifier: Apache-2.0
//
// TimeSlices counts launches by when they started, in at most 64 slices of equal width that hold all of
// them, whatever the length of the run.
//
//   width 2^20 ns, first slice 3:   [3, 4)  [4, 5) ... [66, 67)   x 2^20 ns
//   a start in slice 67:            width 2^21 ns, first slice 1: [1, 2) ... [33, 34)   x 2^21 ns
//
// The width is a power of two and slices begin at multiples of it, so that
//   GUARANTEE  slices joined to a coarser width are those that the launches themselves would give,
//   whatever the order they came in: kernels of different widths go into one picture exactly.
//
// A start that is years from the others (a clock that was set, a damaged record) is not counted: it
// would make one slice of all the others. If such starts get to be more than those held, the slices
// begin anew with them. Starts from 2^63 ns on, those not known among them, are never counted.
//
// Memory: 16 bytes a slice, 1 KiB at most.
//
// THREADS: none.  UNITS: ns.  ERRORS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stemtap {

class TimeSlices {
 public:
  static constexpr std::size_t kMost = 64;
  // 64 slices of 39 hours are 104 days: longer than any run, shorter than what clocks differ by when
  // they do not count from the same day.
  static constexpr std::uint32_t kMostShift = 47;

  struct Slice {
    std::uint64_t launches = 0;
    std::uint64_t duration_ns = 0;
  };

  void Add(std::uint64_t start_ns, std::uint64_t duration_ns) {
    const std::uint64_t at = (start_ns >> shift_) - first_;  // huge below the first
    Slice* const slice = at < slices_.size() ? &slices_[at] : MakeRoom(start_ns);
    if (slice == nullptr) return;
    ++slice->launches;
    slice->duration_ns += duration_ns;
  }

  // slices()[i] is number first() + i: starts in [number, number + 1) << shift(). The first and the last
  // hold launches. Empty when nothing was added.
  std::span<const Slice> slices() const { return slices_; }
  std::uint64_t first() const { return first_; }
  std::uint32_t shift() const { return shift_; }
  std::uint64_t launches() const;  // in the slices

  // Adds all to `into`, whose slice i is number first + i at the width 2^shift. REQUIRES: shift >=
  // this->shift(), and `into` reaches from the first to the last.
  void AddTo(std::uint32_t shift, std::uint64_t first, std::span<Slice> into) const;

  // The least width, not below 2^shift, at which the starts `low_ns` and `high_ns` are in slices less
  // than kMost apart.
  static std::uint32_t ShiftFor(std::uint32_t shift, std::uint64_t low_ns, std::uint64_t high_ns) {
    while ((high_ns >> shift) - (low_ns >> shift) >= kMost) ++shift;
    return shift;
  }

 private:
  // The slice of `start_ns`, which none is there for. Null: it is out of reach.
  Slice* MakeRoom(std::uint64_t start_ns);
  void Coarsen(std::uint32_t shift);

  std::uint64_t first_ = 0;
  std::uint32_t shift_ = 0;
  std::vector<Slice> slices_;
  std::uint64_t strangers_ = 0;  // starts out of reach, since the slices began
};

}  // namespace stemtap
