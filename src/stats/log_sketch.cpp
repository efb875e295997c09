// SPDX-License-Identifier: Apache-2.0
#include "stats/log_sketch.h"

#include <algorithm>

namespace stemtap::stats {
namespace {

// Returns the sum of squared deviations of `count` offsets from their mean: q - s^2/n. Uses integer
// arithmetic, whose subtraction is exact (equal values give 0), unless a product exceeds 128 bits.
double SquaredDeviations(std::uint64_t count, std::uint64_t offset_sum, uint128 square_sum) {
  uint128 scaled = 0;
  const uint128 sum_squared = static_cast<uint128>(offset_sum) * offset_sum;
  if (!__builtin_mul_overflow(square_sum, static_cast<uint128>(count), &scaled)) {
    return static_cast<double>(scaled - sum_squared) / static_cast<double>(count);
  }
  const long double n = static_cast<long double>(count);
  const long double s = static_cast<long double>(offset_sum);
  const long double m2 = static_cast<long double>(square_sum) - s * s / n;
  return std::max(0.0, static_cast<double>(m2));
}

}  // namespace

LogSketch::Bin& LogSketch::GrowTo(std::uint32_t bin) {
  // Grow by a quarter octave more than needed, to limit reallocations while durations spread.
  constexpr std::uint32_t kSlack = kParts / 4;
  if (bins_.empty()) {
    first_ = bin < kSlack / 2 ? 0 : bin - kSlack / 2;
    bins_.resize(bin - first_ + kSlack / 2);
  } else if (bin < first_) {
    const std::uint32_t first = bin < kSlack ? 0 : bin - kSlack;
    bins_.insert(bins_.begin(), first_ - first, Bin{});
    first_ = first;
  }
  const std::size_t needed = std::size_t{bin} - first_ + 1;
  if (needed > bins_.size()) bins_.resize(needed + kSlack);
  return bins_[bin - first_];
}

void LogSketch::AddBin(std::uint32_t bin, const Bin& more) {
  if (more.count == 0) return;
  Bin& to = Touch(bin);
  to.count += more.count;
  to.offset_sum += more.offset_sum;
  to.offset_square_sum += more.offset_square_sum;
  count_ += more.count;
  total_ += static_cast<uint128>(more.count) * LowerEdge(bin) + more.offset_sum;
}

void LogSketch::Merge(const LogSketch& other) {
  for (std::size_t i = 0; i < other.bins_.size(); ++i) {
    AddBin(other.first_ + static_cast<std::uint32_t>(i), other.bins_[i]);
  }
}

std::uint64_t LogSketch::CountIn(std::uint32_t first, std::uint32_t end) const {
  std::uint64_t count = 0;
  const auto last = static_cast<std::uint32_t>(first_ + bins_.size());
  for (std::uint32_t bin = std::max(first, first_); bin < std::min(end, last); ++bin) {
    count += bins_[bin - first_].count;
  }
  return count;
}

LogSketch LogSketch::Since(const LogSketch& earlier) const {
  LogSketch since = *this;
  for (std::size_t i = 0; i < earlier.bins_.size(); ++i) {
    const Bin& before = earlier.bins_[i];
    if (before.count == 0) continue;
    Bin& bin = since.bins_[earlier.first_ + i - first_];
    bin.count -= before.count;
    bin.offset_sum -= before.offset_sum;
    bin.offset_square_sum -= before.offset_square_sum;
  }
  since.count_ -= earlier.count_;
  since.total_ -= earlier.total_;
  return since;
}

Moments LogSketch::MomentsIn(std::uint32_t first, std::uint32_t end) const {
  const auto last = static_cast<std::uint32_t>(first_ + bins_.size());
  Moments launches;
  for (std::uint32_t bin = std::max(first, first_); bin < std::min(end, last); ++bin) {
    launches.Merge(BinMoments(bin));
  }
  return launches;
}

Moments LogSketch::BinMoments(std::uint32_t bin) const {
  const Bin& b = bins_[bin - first_];
  if (b.count == 0) return {};
  return {b.count, static_cast<double>(LowerEdge(bin)),
          static_cast<double>(b.offset_sum) / static_cast<double>(b.count),
          SquaredDeviations(b.count, b.offset_sum, b.offset_square_sum)};
}

Moments LogSketch::All() const {
  Moments all;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (bins_[i].count != 0) all.Merge(BinMoments(first_ + static_cast<std::uint32_t>(i)));
  }
  return all;
}

}  // namespace stemtap::stats
