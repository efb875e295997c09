// SPDX-License-Identifier: Apache-2.0
#include "stats/time_slices.h"

#include <algorithm>

namespace stemtap::stats {

std::uint64_t TimeSlices::launches() const {
  std::uint64_t sum = 0;
  for (const Slice& slice : slices_) sum += slice.launches;
  return sum;
}

void TimeSlices::AddTo(std::uint32_t shift, std::uint64_t first, std::span<Slice> into) const {
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    Slice& to = into[((first_ + i) >> (shift - shift_)) - first];
    to.launches += slices_[i].launches;
    to.duration_ns += slices_[i].duration_ns;
  }
}

std::uint32_t TimeSlices::ShiftWith(std::uint64_t at_ns) const {
  const std::uint64_t low = std::min(at_ns, first_ << shift_);
  const std::uint64_t high = std::max(at_ns, (first_ + slices_.size() - 1) << shift_);
  return ShiftFor(shift_, low, high, max_slices_);
}

void TimeSlices::AddOverSlices(std::uint64_t start_ns, std::uint64_t duration_ns) {
  const std::uint64_t end_ns = start_ns + duration_ns;
  const auto slice_of = [this](std::uint64_t at_ns) { return (at_ns >> shift_) - first_; };
  Add(start_ns, 0);
  if (slice_of(start_ns) >= slices_.size()) return;  // the start was not counted
  const bool has_end = end_ns > start_ns && (end_ns - 1) >> 63 == 0;
  const bool fits = has_end && (slice_of(end_ns - 1) < slices_.size() ||
                                (ShiftWith(end_ns - 1) <= kMaxShift && MakeRoom(end_ns - 1)));
  if (!fits) {
    slices_[static_cast<std::size_t>(slice_of(start_ns))].duration_ns += duration_ns;
    return;
  }
  for (std::uint64_t from = start_ns; from < end_ns;) {
    const std::uint64_t to = std::min(end_ns, ((from >> shift_) + 1) << shift_);
    slices_[static_cast<std::size_t>(slice_of(from))].duration_ns += to - from;
    from = to;
  }
}

TimeSlices::Slice* TimeSlices::MakeRoom(std::uint64_t start_ns) {
  if (start_ns >> 63 != 0) return nullptr;
  if (!slices_.empty()) {
    const std::uint32_t shift = ShiftWith(start_ns);
    if (shift > kMaxShift) {
      if (++strangers_ <= launches()) return nullptr;
      slices_.clear();
    } else if (shift != shift_) {
      Coarsen(shift);
    }
  }
  if (slices_.empty()) {
    // Begin at the finest width. Later starts coarsen it as needed.
    shift_ = 0;
    first_ = start_ns;
    strangers_ = 0;
  }
  const std::uint64_t number = start_ns >> shift_;
  if (number < first_) {
    slices_.insert(slices_.begin(), static_cast<std::size_t>(first_ - number), Slice{});
    first_ = number;
  }
  const auto at = static_cast<std::size_t>(number - first_);
  if (at >= slices_.size()) slices_.resize(at + 1);
  return &slices_[at];
}

void TimeSlices::Coarsen(std::uint32_t shift) {
  const std::uint64_t first = first_ >> (shift - shift_);
  std::size_t to = 0;
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    to = static_cast<std::size_t>(((first_ + i) >> (shift - shift_)) - first);
    if (to == i) continue;  // `to` never exceeds i, so no unmoved slice is overwritten
    slices_[to].launches += slices_[i].launches;
    slices_[to].duration_ns += slices_[i].duration_ns;
    slices_[i] = {};
  }
  slices_.resize(to + 1);
  first_ = first;
  shift_ = shift;
}

}  // namespace stemtap::stats
