// SPDX-License-Identifier: Apache-2.0
//
// SerialCorrelation measures how much consecutive launches of a kernel have in common. The layers
// of one prompt all last as long as the prompt is long, so sixteen captures of one prompt say
// hardly more than one: they are one draw, not sixteen.
//
// Values are compared at distances of 1, 2, 4, ..., kLongest launches, and only with values of the
// same group (a cluster of durations), because a capture represents its cluster only. Half of the
// mean squared difference at distance d is (1 - rho(d)) times the variance within the groups
// (von Neumann, 1941).
//
// THREADS: none.  UNITS: launches; values in any unit.  SOURCE: docs/math/bursts.md.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stemtap::stats {

// Correlations are what SerialCorrelation measures: the correlation of launches that are 1, 2, 4,
// ..., kLongest launches apart, at least 0.
struct Correlations {
  static constexpr std::size_t kDistances = 7;
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << (kDistances - 1);

  std::array<double, kDistances> rho = {};

  // Returns the correlation of launches that are `distance` apart.
  double At(std::uint64_t distance) const {
    if (distance == 0) return 1.0;
    if (distance > kLongest) return 0.0;
    const auto below = static_cast<std::size_t>(std::bit_width(distance)) - 1;
    if (below + 1 >= kDistances) return rho[below];
    const double first = static_cast<double>(std::uint64_t{1} << below);
    const double share = static_cast<double>(distance) / first - 1.0;
    return rho[below] + share * (rho[below + 1] - rho[below]);
  }

  // Returns the number of consecutive launches with the information of one independent launch:
  // 1 + 2 sum rho(d), at least 1.
  double Length() const {
    double sum = 0.0;
    for (std::size_t i = 0; i + 1 < kDistances; ++i) {
      sum += 0.5 * (rho[i] + rho[i + 1]) * static_cast<double>(std::uint64_t{1} << i);
    }
    return 1.0 + rho[0] + 2.0 * sum;
  }

  // Adds `other`, multiplied by `weight`.
  void Add(const Correlations& other, double weight) {
    for (std::size_t i = 0; i < kDistances; ++i) rho[i] += weight * other.rho[i];
  }

  // Returns the sum of the correlations of all pairs of launches at these ascending positions.
  double OfPairs(std::span<const std::uint64_t> positions) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      for (std::size_t j = i; j-- > 0 && positions[i] - positions[j] <= kLongest;) {
        sum += At(positions[i] - positions[j]);
      }
    }
    return sum;
  }
};

class SerialCorrelation {
 public:
  static constexpr std::size_t kDistances = Correlations::kDistances;
  static constexpr std::uint64_t kLongest = Correlations::kLongest;

  // Adds the next value, below 65,536. group_of(value) is its group and mean_of(group) the mean of
  // that group.
  template <typename GroupOf, typename MeanOf>
  void Add(std::uint32_t value, const GroupOf& group_of, const MeanOf& mean_of) {
    recent_[count_ % kRecent] = static_cast<std::uint16_t>(value);
    ++count_;
    if (count_ <= kLongest || (count_ > kEach && count_ % kEvery != 0)) return;
    const auto group = group_of(value);
    const double deviation = static_cast<double>(value) - static_cast<double>(mean_of(group));
    squares_ += deviation * deviation;
    compared_ += 1.0;
    for (std::size_t i = 0; i < kDistances; ++i) {
      const std::uint32_t before = recent_[(count_ - 1 - (std::uint64_t{1} << i)) % kRecent];
      if (group_of(before) != group) continue;
      const double difference = static_cast<double>(value) - static_cast<double>(before);
      differences_[i].squares += difference * difference;
      differences_[i].count += 1.0;
    }
  }

  // Halves the weight of the comparisons so far, because the groups have changed.
  void Fade() {
    squares_ *= 0.5;
    compared_ *= 0.5;
    for (Differences& d : differences_) {
      d.squares *= 0.5;
      d.count *= 0.5;
    }
  }

  // Computes the correlations of the values so far.
  void Update() {
    if (compared_ < kMinCompared || !(squares_ > 0.0)) return;
    const double variance = squares_ / compared_;
    for (std::size_t i = 0; i < kDistances; ++i) {
      const Differences& d = differences_[i];
      if (d.count < kMinCompared) {
        latest_.rho[i] = 0.0;
        continue;
      }
      const double half = 0.5 * d.squares / d.count;
      const double rho = 1.0 - half / variance;
      // A correlation that chance explains counts as none.
      const double chance = kDeviations / std::sqrt(d.count);
      latest_.rho[i] = rho > chance ? std::min(rho, 1.0) : 0.0;
    }
  }

  // The correlations as of the last Update.
  const Correlations& latest() const { return latest_; }

 private:
  static constexpr std::size_t kRecent = 2 * kLongest;
  // The first values are all compared with earlier ones, later ones only one in so many. Not a
  // power of two, so that a repeating pattern is compared at all of its places.
  static constexpr std::uint64_t kEach = 4096;
  static constexpr std::uint64_t kEvery = 5;
  // With fewer comparisons, values count as independent.
  static constexpr double kMinCompared = 48.0;
  // Standard deviations of a correlation that chance may explain. At 2.5, one of 100 runs of two
  // unpredictable modes stated 20 % instead of at most 10 %: there are many kernels, distances and
  // allocations.
  static constexpr double kDeviations = 4.0;

  struct Differences {
    double squares = 0.0;
    double count = 0.0;
  };

  std::array<std::uint16_t, kRecent> recent_ = {};
  std::uint64_t count_ = 0;
  double squares_ = 0.0;  // of the deviations from the means of the groups
  double compared_ = 0.0;
  std::array<Differences, kDistances> differences_ = {};
  Correlations latest_;
};

}  // namespace stemtap::stats
