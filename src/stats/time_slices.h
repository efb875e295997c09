// SPDX-License-Identifier: Apache-2.0
//
// TimeSlices counts launches by start time, in at most 64 slices (or as many as the owner chooses)
// of equal width. The width adapts to the length of the run.
//
//   width 2^20 ns, first slice 3:   [3, 4)  [4, 5) ... [66, 67)   x 2^20 ns
//   a start in slice 67:            width 2^21 ns, first slice 1: [1, 2) ... [33, 34)   x 2^21 ns
//
// The width is a power of two and slices begin at multiples of the width, which gives the
//   GUARANTEE  Coarsening slices gives the same slices as adding the launches at the coarser width,
//   in any order. Slices of kernels with different widths can therefore be combined exactly.
//
// A start that does not fit into 64 slices of the maximum width (the clock was set, a record is
// damaged) is not counted, because it would compress all other launches into one slice. If such
// starts outnumber the counted launches, the slices are discarded and restart at the current start.
// Starts of 2^63 ns or more, which include unknown starts, are never counted.
//
// Memory: 16 bytes per slice, at most 1 KiB with 64 slices.
//
// THREADS: none.  UNITS: ns.  ERRORS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stemtap::stats {

class TimeSlices {
 public:
  static constexpr std::uint32_t kMaxSlices = 64;
  // 64 slices of 2^47 ns (39 hours) are 104 days: longer than any run, but shorter than the usual
  // difference between clocks with different epochs.
  static constexpr std::uint32_t kMaxShift = 47;

  struct Slice {
    std::uint64_t launches = 0;
    std::uint64_t duration_ns = 0;
  };

  // REQUIRES: max_slices > 0.
  explicit TimeSlices(std::uint32_t max_slices = kMaxSlices) : max_slices_(max_slices) {}

  // Counts a launch with its whole duration in the slice of its start.
  void Add(std::uint64_t start_ns, std::uint64_t duration_ns) {
    const std::uint64_t at = (start_ns >> shift_) - first_;  // wraps to a huge value below first_
    Slice* const slice = at < slices_.size() ? &slices_[at] : MakeRoom(start_ns);
    if (slice == nullptr) return;
    ++slice->launches;
    slice->duration_ns += duration_ns;
  }

  // Counts a launch in the slice of its start, and divides its duration among the slices that it
  // overlaps. If the end does not fit, the whole duration is in the slice of the start.
  void AddSpread(std::uint64_t start_ns, std::uint64_t duration_ns) {
    if (AddWithin(start_ns, start_ns + duration_ns, {1, duration_ns})) return;
    AddOverSlices(start_ns, duration_ns);
  }

  // Adds launches that begin at `start_ns` or later and end by `end_ns`, if both are in one of the
  // slices. Otherwise, adds nothing and returns false.
  bool AddWithin(std::uint64_t start_ns, std::uint64_t end_ns, const Slice& launches) {
    const std::uint64_t at = (start_ns >> shift_) - first_;
    if (at >= slices_.size() || (end_ns >> shift_) - first_ != at) return false;
    slices_[at].launches += launches.launches;
    slices_[at].duration_ns += launches.duration_ns;
    return true;
  }

  // slices()[i] has the number first() + i and counts starts in [number, number + 1) << shift().
  // The first and the last slice are not empty. The span is empty if nothing was added.
  std::span<const Slice> slices() const { return slices_; }
  std::uint64_t first() const { return first_; }
  std::uint32_t shift() const { return shift_; }
  std::uint64_t launches() const;  // sum over all slices

  // Adds all slices to `into`, whose slice i has the number first + i at width 2^shift.
  // REQUIRES: shift >= this->shift(), and `into` spans all slices.
  void AddTo(std::uint32_t shift, std::uint64_t first, std::span<Slice> into) const;

  // Returns the smallest shift, at least `shift`, at which the slices of `low_ns` and `high_ns` are
  // less than `max_slices` apart.
  static std::uint32_t ShiftFor(std::uint32_t shift, std::uint64_t low_ns, std::uint64_t high_ns,
                                std::uint32_t max_slices = kMaxSlices) {
    while ((high_ns >> shift) - (low_ns >> shift) >= max_slices) ++shift;
    return shift;
  }

 private:
  // Grows or coarsens the slices to include `start_ns`. Returns the slice of `start_ns`, or nullptr
  // if `start_ns` is too far from the others.
  Slice* MakeRoom(std::uint64_t start_ns);
  // As AddSpread, if the launch is not within one of the slices.
  void AddOverSlices(std::uint64_t start_ns, std::uint64_t duration_ns);
  void Coarsen(std::uint32_t shift);
  // Returns the shift at which the slices include `at_ns`. REQUIRES: there are slices.
  std::uint32_t ShiftWith(std::uint64_t at_ns) const;

  std::uint32_t max_slices_;
  std::uint32_t shift_ = 0;
  std::uint64_t first_ = 0;
  std::vector<Slice> slices_;
  std::uint64_t strangers_ = 0;  // starts too far from the slices, since the last restart
};

}  // namespace stemtap::stats
