// SPDX-License-Identifier: Apache-2.0
//
// Moments is the count, mean and variance of a set of values, updated one value at a time (Welford)
// and merged pairwise (Chan et al.). It keeps full precision where sums of squares do not: for
// values near 1e12 with a spread of a few units. The mean is stored as an offset from the first
// value (the origin), because rounding a mean of 1e12 to a double (1e-4) would make the merge
// inaccurate.
//
// THREADS: none.  UNITS: the units of the values (durations: ns).
// SOURCE: docs/math/moments.md (Welford 1962; Chan, Golub, LeVeque 1979).
#pragma once

#include <cmath>
#include <cstdint>

namespace stemtap::stats {

class Moments {
 public:
  Moments() = default;
  // `m2` is the sum of squared deviations from `mean`.
  Moments(std::uint64_t count, double mean, double m2) : Moments(count, mean, 0.0, m2) {}
  // The mean is origin + offset, for means that one double does not represent exactly enough.
  Moments(std::uint64_t count, double origin, double offset, double m2)
      : count_(count), origin_(origin), offset_(offset), m2_(m2) {}

  // Adds one value. An infinite or NaN value makes mean and variance infinite or NaN.
  // REQUIRES: `value` is finite.
  void Add(double value) {
    if (count_ == 0) origin_ = value;
    ++count_;
    const double shifted = value - origin_;  // exact for values within a factor of two
    const double before = shifted - offset_;
    offset_ += before / static_cast<double>(count_);
    m2_ += before * (shifted - offset_);
  }

  // Adds all values of `other`.
  void Merge(const Moments& other) {
    if (other.count_ == 0) return;
    if (count_ == 0) {
      *this = other;
      return;
    }
    const auto n = static_cast<double>(count_);
    const auto n_other = static_cast<double>(other.count_);
    const double delta = (other.origin_ - origin_) + (other.offset_ - offset_);
    const double total = n + n_other;
    offset_ += delta * (n_other / total);
    m2_ += other.m2_ + delta * delta * (n * n_other / total);
    count_ += other.count_;
  }

  std::uint64_t count() const { return count_; }
  double mean() const { return origin_ + offset_; }  // 0 if empty
  double sum() const { return mean() * static_cast<double>(count_); }
  double m2() const { return m2_; }

  // Population variance sigma^2. 0 for fewer than two values.
  double variance() const { return count_ < 2 ? 0.0 : m2_ / static_cast<double>(count_); }
  double stddev() const { return std::sqrt(variance()); }

 private:
  std::uint64_t count_ = 0;
  double origin_ = 0.0;  // the first value, or the origin passed to the constructor
  double offset_ = 0.0;  // mean - origin
  double m2_ = 0.0;
};

// Returns the moments of the values of `all` that are not in `part`. REQUIRES: `all` contains the
// values of `part`. The rounding error of m2 is relative to the m2 of `all`.
inline Moments Without(const Moments& all, const Moments& part) {
  if (part.count() == 0) return all;
  if (part.count() >= all.count()) return {};
  const auto n = static_cast<double>(all.count());
  const auto n_part = static_cast<double>(part.count());
  const double delta = (part.mean() - all.mean()) * (n_part / (n - n_part));
  const double m2 = all.m2() - part.m2() - delta * delta * (n - n_part) * n / n_part;
  return {all.count() - part.count(), all.mean() - delta, m2 > 0.0 ? m2 : 0.0};
}

}  // namespace stemtap::stats
