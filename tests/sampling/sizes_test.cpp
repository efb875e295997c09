// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "sampling/certificate.h"
#include "sampling/sizes.h"

namespace stemtap::sampling {
namespace {

constexpr double kZ = 1.959963984540054;

double Cost(const std::vector<Stratum>& strata, const std::vector<double>& sizes) {
  double cost = 0;
  for (std::size_t i = 0; i < strata.size(); ++i) cost += sizes[i] * strata[i].mean;
  return cost;
}

std::vector<Stratum> RandomStrata(std::mt19937_64& random, std::size_t n, std::uint64_t most) {
  std::vector<Stratum> strata;
  for (std::size_t i = 0; i < n; ++i) {
    const double mean = 100.0 + static_cast<double>(random() % 100000);
    const double cov = static_cast<double>(random() % 200) / 100.0;
    strata.emplace_back(1 + random() % most, mean, cov * cov * mean * mean);
  }
  return strata;
}

TEST_CASE("the sample size is at least one and at least the floor, and does not overflow") {
  CHECK(SampleSize(1000, 0, 0.05, kZ) == 1);
  CHECK(SampleSize(0, 0, 0.05, kZ) == 1);
  CHECK(SampleSize(1000, 1, 0.05, kZ, kFloorClt) == 30);
  CHECK(SampleSize(0, 5, 0.05, kZ) == std::uint64_t{1} << 62);
  CHECK(SampleSize(1000, 5, 0, kZ) == std::uint64_t{1} << 62);
  CHECK(SampleSize(1000, 5, 0.05, INFINITY) == std::uint64_t{1} << 62);
}

TEST_CASE("allocation handles no strata, a single launch, no spread and empty strata") {
  const ErrorTarget target{0.05, kZ};
  CHECK(Allocate({}, target, Population::kFinite).empty());
  const std::vector<Stratum> strata = {{1, 500, 0}, {1000, 80, 0}, {0, 0, 0}, {5, 0, 0}};
  CHECK(Allocate(strata, target, Population::kFinite) == std::vector<std::uint64_t>{1, 1, 0, 1});
}

TEST_CASE("a bound of zero samples every stratum with variance completely") {
  const std::vector<Stratum> strata = {{10, 100, 25}, {1000, 80, 0}};
  CHECK(Allocate(strata, {0.0, kZ}, Population::kFinite) == std::vector<std::uint64_t>{10, 1});
  CHECK(Allocate(strata, {0.05, INFINITY}, Population::kFinite) ==
        std::vector<std::uint64_t>{10, 1});
}

TEST_CASE("the floor applies up to the size of the stratum") {
  const std::vector<Stratum> strata = {{3, 100, 1}, {1000, 80, 1}};
  CHECK(Allocate(strata, {0.5, kZ}, Population::kFinite, 5) == std::vector<std::uint64_t>{3, 5});
}

TEST_CASE("every allocation meets its bound after rounding up") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const auto strata = RandomStrata(random, 1 + random() % 20, 5000);
    const ErrorTarget target{0.001 + 0.0001 * static_cast<double>(random() % 3000), kZ};
    const auto sizes = Allocate(strata, target, Population::kFinite);
    CHECK(ErrorBound(strata, sizes, kZ) <= target.error_bound * (1 + 1e-7));
  }
}

TEST_CASE("allocations satisfy the KKT conditions: free sizes have the same marginal price") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto strata = RandomStrata(random, 2 + random() % 10, 3000);
    const ErrorTarget target{0.005 + 0.0005 * static_cast<double>(random() % 200), kZ};
    const auto m = AllocateReal(strata, target, Population::kFinite);
    // The price of stratum i, d(budget)/d(cost) = (b_i / m_i^2) / a_i, is equal for all free
    // strata.
    double price = -1;
    double total = 0;
    for (const Stratum& s : strata) total += s.sum();
    for (std::size_t i = 0; i < strata.size(); ++i) {
      const double n = static_cast<double>(strata[i].count);
      if (strata[i].variance > 0 && m[i] > 1.0 + 1e-9 && m[i] < n * (1 - 1e-9)) {
        const double own = n * n * strata[i].sample_variance() / (m[i] * m[i]) / strata[i].mean;
        if (price < 0) price = own;
        CHECK(own == doctest::Approx(price).epsilon(1e-6));
      }
    }
    if (price < 0) continue;  // every size is clamped
    double used = 0;
    for (std::size_t i = 0; i < strata.size(); ++i) {
      const double n = static_cast<double>(strata[i].count);
      if (strata[i].variance <= 0 || strata[i].count < 2) continue;
      const double b = n * n * strata[i].sample_variance();
      used += b / m[i] * (1 - m[i] / n);
      const double own = b / (m[i] * m[i]) / strata[i].mean;
      if (m[i] <= 1.0) CHECK(own <= price * (1 + 1e-6));
      if (m[i] >= n) CHECK(own >= price * (1 - 1e-6));
    }
    // Complementary slackness: if any size is free, the budget is fully used.
    const double budget = target.error_bound * total / kZ;
    CHECK(used == doctest::Approx(budget * budget).epsilon(1e-6));
  }
}

TEST_CASE(
    "an allocation costs at most one sample per stratum more than the best integer allocation") {
  // Enumerates all sizes of two or three small strata.
  std::mt19937_64 random(9);
  for (int round = 0; round < 200; ++round) {
    const auto strata = RandomStrata(random, 2 + random() % 2, 12);
    const ErrorTarget target{0.02 + 0.001 * static_cast<double>(random() % 300), kZ};
    const auto real = AllocateReal(strata, target, Population::kFinite);
    double cheapest = INFINITY;
    std::vector<std::uint64_t> sizes(strata.size(), 1);
    for (;;) {
      if (ErrorBound(strata, sizes, kZ) <= target.error_bound) {
        cheapest = std::min(cheapest, Cost(strata, {sizes.begin(), sizes.end()}));
      }
      std::size_t i = 0;
      while (i < sizes.size() && sizes[i] == strata[i].count) sizes[i++] = 1;
      if (i == sizes.size()) break;
      ++sizes[i];
    }
    CHECK(Cost(strata, real) <= cheapest * (1 + 1e-9));  // the relaxation is a lower bound
    double ceiled = 0;
    const auto ours = Allocate(strata, target, Population::kFinite);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      ceiled += static_cast<double>(ours[i]) * strata[i].mean;
    }
    double one_each = 0;
    for (const Stratum& s : strata) one_each += s.mean;
    CHECK(ceiled <= cheapest + one_each);
  }
}

}  // namespace
}  // namespace stemtap::sampling
