// SPDX-License-Identifier: Apache-2.0
#include "online/collapse.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

namespace stemtap::online {
namespace {

stats::Moments Equal(std::uint64_t count, double mean) {
  return {count, mean, 0.0};
}

stats::Moments Of(const std::vector<double>& values) {
  stats::Moments moments;
  for (const double value : values) moments.Add(value);
  return moments;
}

SampledRange Sampled(std::uint64_t count, double mean, std::uint64_t samples = 1) {
  return {Equal(count, mean), samples, {}};
}

SampledRange Empty(std::uint64_t count, double mean, const stats::Moments& explored = {}) {
  return {Equal(count, mean), 0, explored};
}

constexpr std::size_t kUncovered = ~std::size_t{0};

// Returns, for each stratum, the stratum whose captures represent it.
std::vector<std::size_t> Homes(const std::vector<JointStratum>& joined) {
  std::vector<std::size_t> homes;
  for (const JointStratum& joint : joined) {
    for (std::size_t i = joint.first; i < joint.end; ++i) {
      homes.push_back(joint.covered() ? joint.home : kUncovered);
    }
  }
  return homes;
}

std::vector<std::size_t> HomesOf(const std::vector<SampledRange>& strata, double bias_ns = 0.0) {
  return Homes(JoinStrata(strata, bias_ns));
}

// Returns the expected error of the kernel's estimate if `homes` represent the strata.
double BiasOf(const std::vector<SampledRange>& strata, const std::vector<std::size_t>& homes) {
  double bias = 0.0;
  for (std::size_t i = 0; i < strata.size(); ++i) {
    const double mean = homes[i] == kUncovered ? 0.0 : strata[homes[i]].launches.mean();
    bias += static_cast<double>(strata[i].launches.count()) * (mean - strata[i].launches.mean());
  }
  return bias;
}

TEST_CASE("strata with captures stay separate and have no bias") {
  double bias = 3.0;
  const std::vector<JointStratum> joined =
      JoinStrata(std::vector{Sampled(10, 100.0, 2), Sampled(20, 101.0, 5)}, bias);
  REQUIRE(joined.size() == 2);
  CHECK(joined[0].samples == 2);
  CHECK(joined[1].samples == 5);
  CHECK(joined[1].all.count() == 20);
  CHECK(joined[1].sampled.count() == 20);
  CHECK(joined[0].bias_ns == 0.0);
  CHECK(bias == 3.0);
}

TEST_CASE("an empty stratum joins a neighbor that is close enough") {
  CHECK(HomesOf({Sampled(100, 100.0), Empty(5, 110.0), Sampled(100, 900.0)}) ==
        std::vector<std::size_t>{0, 0, 2});
  CHECK(HomesOf({Sampled(100, 100.0), Empty(5, 890.0), Sampled(100, 900.0)}) ==
        std::vector<std::size_t>{0, 2, 2});
  CHECK(HomesOf({Empty(5, 90.0), Sampled(100, 100.0)}) == std::vector<std::size_t>{1, 1});
}

TEST_CASE("a neighbor that differs by more than half the stratum's mean does not represent it") {
  CHECK(HomesOf({Sampled(9, 50.0), Empty(5, 100.0)}) == std::vector<std::size_t>{0, 0});
  CHECK(HomesOf({Sampled(9, 49.0), Empty(5, 100.0)}) == std::vector<std::size_t>{0, kUncovered});
  CHECK(HomesOf({Empty(5, 100.0), Sampled(9, 150.0)}) == std::vector<std::size_t>{1, 1});
  CHECK(HomesOf({Empty(5, 100.0), Sampled(9, 151.0)}) == std::vector<std::size_t>{kUncovered, 1});
  CHECK(HomesOf({Sampled(9, 40.0), Empty(5, 100.0), Sampled(9, 160.0)}) ==
        std::vector<std::size_t>{0, kUncovered, 2});
  CHECK(HomesOf({Empty(5, 0.0), Sampled(9, 10.0)}) == std::vector<std::size_t>{kUncovered, 1});
}

TEST_CASE("the captures of one stratum represent all neighbors that are close enough") {
  CHECK(HomesOf({Empty(2, 80.0), Empty(2, 90.0), Sampled(9, 100.0), Empty(2, 110.0),
                 Empty(2, 150.0), Empty(2, 250.0)}) ==
        std::vector<std::size_t>{2, 2, 2, 2, 2, kUncovered});
}

TEST_CASE("all of an uncovered stratum counts even if its neighbors are represented") {
  double bias = 0.0;
  const std::vector<JointStratum> joined =
      JoinStrata(std::vector{Sampled(100, 10.0), Empty(5, 1000.0), Empty(4, 3000.0)}, bias);
  REQUIRE(joined.size() == 3);
  CHECK_FALSE(joined[1].covered());
  CHECK_FALSE(joined[2].covered());
  CHECK(joined[1].all.sum() == 5000.0);
  CHECK(bias == -17000.0);
}

TEST_CASE("a kernel without captures is uncovered") {
  double bias = 0.0;
  CHECK(Homes(JoinStrata(std::vector{Empty(100, 10.0), Empty(5, 11.0)}, bias)) ==
        std::vector<std::size_t>{kUncovered, kUncovered});
  CHECK(bias == -1055.0);
  CHECK(JoinStrata({}, bias).empty());
}

TEST_CASE("a stratum that may join either neighbor balances the previous biases") {
  // The bias of the 10 launches of 100 ns is -100 with the lower neighbor and +300 with the upper.
  const std::vector<SampledRange> strata = {Sampled(50, 90.0), Empty(10, 100.0),
                                            Sampled(50, 130.0)};
  for (const auto& [before, home, after] : {std::tuple{0.0, 0u, -100.0},
                                            {1000.0, 0u, 900.0},
                                            {-90.0, 0u, -190.0},
                                            {-110.0, 2u, 190.0},
                                            {-1000.0, 2u, -700.0}}) {
    CAPTURE(before);
    double bias = before;
    CHECK(Homes(JoinStrata(strata, bias)) == std::vector<std::size_t>{0, home, 2});
    CHECK(bias == doctest::Approx(after));
  }
}

TEST_CASE("joins with the upper neighbor balance uncovered time") {
  // Alone, the second stratum joins the lower neighbor, because -50 is closer to 0 than +100.
  CHECK(HomesOf({Sampled(50, 95.0), Empty(10, 100.0), Sampled(50, 110.0)}) ==
        std::vector<std::size_t>{0, 0, 2});
  CHECK(HomesOf({Empty(10, 20.0), Sampled(50, 95.0), Empty(10, 100.0), Sampled(50, 110.0)}) ==
        std::vector<std::size_t>{kUncovered, 1, 3, 3});
}

TEST_CASE("exploratory captures represent a stratum that no neighbor can represent") {
  double bias = 0.0;
  const std::vector<JointStratum> joined =
      JoinStrata(std::vector{Sampled(9, 10.0), Empty(100, 1000.0, Of({1100.0, 1200.0}))}, bias);
  REQUIRE(joined.size() == 2);
  CHECK(joined[1].by_explored);
  CHECK(joined[1].covered());
  CHECK(joined[1].samples == 2);
  CHECK(joined[1].all.count() == 100);
  CHECK(joined[1].bias_ns == doctest::Approx(100 * 150.0));
  CHECK(bias == doctest::Approx(100 * 150.0));
  // The order of launches is not random, so the error is the bias, and no variance is added.
  CHECK(JointVariance(joined[1]) == 0.0);
}

TEST_CASE("exploratory captures are not used next to random captures or if they differ") {
  const stats::Moments near = Of({105.0});
  double bias = 0.0;
  const std::vector<JointStratum> by_neighbor =
      JoinStrata(std::vector{Sampled(9, 90.0), Empty(5, 100.0, near)}, bias);
  REQUIRE(by_neighbor.size() == 1);
  CHECK_FALSE(by_neighbor[0].by_explored);
  CHECK(bias == doctest::Approx(-50.0));
  SampledRange own = Sampled(9, 100.0);
  own.explored = near;
  bias = 0.0;
  CHECK_FALSE(JoinStrata(std::vector{own}, bias)[0].by_explored);
  CHECK(bias == 0.0);
  CHECK(HomesOf({Empty(5, 100.0, Of({149.0}))}) == std::vector<std::size_t>{0});
  CHECK(HomesOf({Empty(5, 100.0, Of({151.0}))}) == std::vector<std::size_t>{kUncovered});
}

TEST_CASE("bias and variance match the estimate over all samples") {
  const std::vector<double> home = {80.0, 95.0, 100.0, 145.0};
  const std::vector<double> joined_values = {150.0, 160.0};
  double bias = 0.0;
  const std::vector<JointStratum> joined =
      JoinStrata(std::vector{SampledRange{Of(home), 2, {}}, {Of(joined_values), 0, {}}}, bias);
  REQUIRE(joined.size() == 1);
  const double total = 80.0 + 95.0 + 100.0 + 145.0 + 150.0 + 160.0;
  stats::Moments errors;
  for (std::size_t a = 0; a < home.size(); ++a) {
    for (std::size_t b = a + 1; b < home.size(); ++b) {
      errors.Add(6.0 * (home[a] + home[b]) / 2.0 - total);
    }
  }
  CHECK(joined[0].bias_ns == doctest::Approx(errors.mean()));
  CHECK(bias == doctest::Approx(errors.mean()));
  CHECK(JointVariance(joined[0]) == doctest::Approx(errors.variance()));
}

TEST_CASE("an uncovered stratum adds no variance, because all of its time counts") {
  double bias = 0.0;
  const std::vector<JointStratum> joined =
      JoinStrata(std::vector{SampledRange{Of({10.0, 20.0, 90.0}), 0, {}}}, bias);
  CHECK(JointVariance(joined.at(0)) == 0.0);
}

// Returns the minimum |bias| over all ways to divide the single gap of `strata` between its sampled
// neighbors.
double LeastBias(const std::vector<SampledRange>& strata, double before) {
  double least = std::numeric_limits<double>::infinity();
  const std::size_t last = strata.size() - 1;
  for (std::size_t split = 1; split <= last; ++split) {
    std::vector<std::size_t> homes(strata.size(), 0);
    bool allowed = true;
    for (std::size_t i = 0; i <= last; ++i) {
      if (i >= split) homes[i] = last;
      const double difference = strata[homes[i]].launches.mean() - strata[i].launches.mean();
      allowed = allowed && std::fabs(difference) <= 0.5 * strata[i].launches.mean();
    }
    if (allowed) least = std::min(least, std::fabs(before + BiasOf(strata, homes)));
  }
  return least;
}

TEST_CASE("a gap is divided at the minimum sum of biases, by brute force") {
  std::mt19937_64 random(7);
  int divided = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<SampledRange> strata;
    double mean = 100.0;
    for (std::uint64_t left = 2 + random() % 6; left > 0; --left) {
      strata.push_back(Empty(1 + random() % 50, mean));
      mean += static_cast<double>(1 + random() % 30);
    }
    strata.front().samples = strata.back().samples = 1;
    const double before = static_cast<double>(random() % 4000) - 2000.0;
    const double least = LeastBias(strata, before);
    if (std::isinf(least)) continue;
    double bias = before;
    const std::vector<std::size_t> homes = Homes(JoinStrata(strata, bias));
    CHECK(bias == doctest::Approx(before + BiasOf(strata, homes)));
    CHECK(std::fabs(bias) == doctest::Approx(least));
    ++divided;
  }
  CHECK(divided > 1000);
}

TEST_CASE("joint strata contain every stratum once, and their biases add up") {
  std::mt19937_64 random(8);
  for (int round = 0; round < 1000; ++round) {
    std::vector<SampledRange> strata;
    double mean = 100.0;
    for (std::uint64_t left = 1 + random() % 9; left > 0; --left) {
      strata.push_back(Sampled(1 + random() % 50, mean, random() % 3 == 0 ? 1 + random() % 4 : 0));
      if (random() % 4 == 0) strata.back().explored = Equal(1, mean * 1.1);
      mean *= 1.0 + static_cast<double>(1 + random() % 40) / 50.0;
    }
    const double before = static_cast<double>(random() % 2000) - 1000.0;
    double bias = before;
    double expected = before;
    std::size_t end = 0;
    for (const JointStratum& joint : JoinStrata(strata, bias)) {
      REQUIRE(joint.first == end);
      REQUIRE(joint.end > joint.first);
      end = joint.end;
      stats::Moments all;
      for (std::size_t i = joint.first; i < joint.end; ++i) all.Merge(strata[i].launches);
      CHECK(joint.all.count() == all.count());
      CHECK(joint.all.sum() == doctest::Approx(all.sum()));
      if (!joint.covered()) {
        CHECK(joint.bias_ns == 0.0);
        expected -= all.sum();
        continue;
      }
      const double estimate = static_cast<double>(all.count()) * joint.sampled.mean();
      CHECK(joint.bias_ns == doctest::Approx(estimate - all.sum()));
      expected += joint.bias_ns;
    }
    CHECK(end == strata.size());
    CHECK(bias == doctest::Approx(expected));
  }
}

// Returns a stratum with 10 launches of the given mean in each period.
struct Periods {
  std::vector<ClusterPeriod> periods;
  stats::Moments all;
  std::uint64_t samples = 0;

  Periods(const std::vector<double>& means, const std::vector<std::uint64_t>& captured) {
    for (std::size_t p = 0; p < means.size(); ++p) {
      periods.push_back({Equal(10, means[p]), captured[p], 0.0});
      all.Merge(periods.back().launches);
      samples += captured[p];
    }
  }
  SampledRange Range(std::uint64_t enough) const { return {all, samples, {}, periods, enough}; }
};

TEST_CASE("captures of a period represent the periods after it that have none") {
  const Periods stratum({100.0, 101.0, 102.0, 103.0}, {0, 2, 0, 1});
  double bias = 0.0;
  const std::vector<JointStratum> joined = JoinStrata(std::vector{stratum.Range(3)}, bias);
  REQUIRE(joined.size() == 2);
  CHECK(joined[0].first_period == 0);
  CHECK(joined[0].end_period == 3);
  CHECK(joined[0].home_period == 1);
  CHECK(joined[0].samples == 2);
  CHECK(joined[0].all.count() == 30);
  CHECK(joined[0].sampled.count() == 10);
  CHECK(joined[0].other_periods.sum() == doctest::Approx(10 * 100.0 + 10 * 102.0));
  CHECK(joined[0].bias_ns == doctest::Approx(10 * 1.0 - 10 * 1.0));
  CHECK(joined[1].first_period == 3);
  CHECK(joined[1].bias_ns == doctest::Approx(0.0));
}

TEST_CASE("the newest captures that suffice represent all periods") {
  const Periods stratum({100.0, 101.0, 102.0}, {5, 1, 1});
  const auto homes = [&](std::uint64_t enough) {
    double bias = 0.0;
    std::vector<std::size_t> periods;
    for (const JointStratum& joint : JoinStrata(std::vector{stratum.Range(enough)}, bias)) {
      periods.push_back(joint.home_period);
    }
    return periods;
  };
  using Homes = std::vector<std::size_t>;
  CHECK(homes(1) == Homes{2});
  CHECK(homes(2) == Homes{1, 2});
  CHECK(homes(3) == Homes{0, 1, 2});
  CHECK(homes(100) == Homes{0, 1, 2});
}

TEST_CASE("a stratum without captures joins the periods of its home") {
  const Periods home({100.0, 102.0}, {1, 1});
  const Periods empty({110.0, 112.0}, {0, 0});
  double bias = 0.0;
  const std::vector<JointStratum> joined =
      JoinStrata(std::vector{home.Range(2), empty.Range(1)}, bias);
  REQUIRE(joined.size() == 2);
  CHECK(joined[0].all.count() == 20);
  CHECK(joined[0].end == 2);
  CHECK(joined[0].other_periods.count() == 0);  // the joined launches are of the same period
  CHECK(joined[0].bias_ns == doctest::Approx(10 * (100.0 - 110.0)));
  CHECK(joined[1].bias_ns == doctest::Approx(10 * (102.0 - 112.0)));
  CHECK(bias == doctest::Approx(-200.0));
}

}  // namespace
}  // namespace stemtap::online
