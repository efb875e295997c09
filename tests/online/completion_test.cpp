// SPDX-License-Identifier: Apache-2.0
#include "online/completion.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "sampling/certificate.h"

namespace stemtap::online {
namespace {

double Variance(const std::vector<sampling::Stratum>& strata,
                const std::vector<std::uint64_t>& sizes) {
  double sum = 0.0;
  for (std::size_t i = 0; i < strata.size(); ++i)
    sum += sampling::EstimateVariance(strata[i], sizes[i]);
  return sum;
}

// Returns the captured time of the missing samples, with `costs` per capture.
double FurtherCost(const std::vector<double>& costs, const std::vector<std::uint64_t>& had,
                   const std::vector<std::uint64_t>& sizes) {
  double cost = 0.0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    cost += static_cast<double>(sizes[i] - had[i]) * costs[i];
  }
  return cost;
}

std::vector<double> Means(const std::vector<sampling::Stratum>& strata) {
  std::vector<double> means;
  for (const sampling::Stratum& s : strata) means.push_back(s.mean);
  return means;
}

std::vector<std::uint64_t> MinSizes(const std::vector<sampling::Stratum>& strata,
                                    std::uint64_t of_each) {
  return std::vector<std::uint64_t>(strata.size(), of_each);
}

TEST_CASE("if the captures so far meet the budget, they are the sizes") {
  const std::vector<sampling::Stratum> strata = {{100, 10.0, 4.0}, {50, 20.0, 1.0}};
  const std::vector<std::uint64_t> had = {7, 3};
  CHECK(CompleteSizes(strata, Means(strata), had, MinSizes(strata, 2), 1e9) == had);
}

TEST_CASE("a stratum without captures gets its minimum, limited to its launches") {
  const std::vector<sampling::Stratum> strata = {{100, 10.0, 4.0}, {1, 20.0, 0.0}, {0, 0.0, 0.0}};
  const std::vector<std::uint64_t> had = {0, 0, 0};
  CHECK(CompleteSizes(strata, Means(strata), had, MinSizes(strata, 2), 1e9) ==
        std::vector<std::uint64_t>{2, 1, 0});
}

TEST_CASE("each stratum has its own minimum") {
  const std::vector<sampling::Stratum> strata = {{100, 10.0, 4.0}, {100, 20.0, 4.0}};
  const std::vector<std::uint64_t> had = {0, 0};
  const std::vector<std::uint64_t> min_sizes = {3, 1};
  CHECK(CompleteSizes(strata, Means(strata), had, min_sizes, 1e9) == min_sizes);
}

TEST_CASE("a budget of 0 samples every launch of strata with spread") {
  const std::vector<sampling::Stratum> strata = {{40, 10.0, 4.0}, {50, 20.0, 0.0}};
  const std::vector<std::uint64_t> had = {3, 1};
  CHECK(CompleteSizes(strata, Means(strata), had, MinSizes(strata, 1), 0.0) ==
        std::vector<std::uint64_t>{40, 1});
  CHECK(CompleteSizes(strata, Means(strata), had, MinSizes(strata, 1), -5.0) ==
        std::vector<std::uint64_t>{40, 1});
}

TEST_CASE("of two equal strata, the stratum with cheaper captures gets more captures") {
  const std::vector<sampling::Stratum> strata = {{1000, 10.0, 25.0}, {1000, 10.0, 25.0}};
  const std::vector<std::uint64_t> none = {0, 0};
  const double budget = Variance(strata, {20, 20});
  const auto even =
      CompleteSizes(strata, std::vector{10.0, 10.0}, none, MinSizes(strata, 1), budget);
  const auto uneven =
      CompleteSizes(strata, std::vector{40.0, 10.0}, none, MinSizes(strata, 1), budget);
  CHECK(even == std::vector<std::uint64_t>{20, 20});
  // Optimal sizes are proportional to 1 / sqrt(cost), here 1 to 2.
  CHECK(uneven[0] < 20);
  CHECK(static_cast<double>(uneven[1]) ==
        doctest::Approx(2.0 * static_cast<double>(uneven[0])).epsilon(0.1));
  CHECK(Variance(strata, uneven) <= budget);
}

TEST_CASE("sizes meet the budget at the minimum further cost, by brute force") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<sampling::Stratum> strata;
    std::vector<double> costs;
    std::vector<std::uint64_t> had;
    for (int i = 0; i < 3; ++i) {
      strata.emplace_back(2 + random() % 9, 1.0 + static_cast<double>(random() % 50),
                          static_cast<double>(random() % 40));
      costs.push_back(strata.back().mean * (1.0 + static_cast<double>(random() % 20) / 4.0));
      had.push_back(random() % 3);
    }
    const double budget =
        Variance(strata, {1, 1, 1}) * (static_cast<double>(random() % 90) / 100.0);
    const auto sizes = CompleteSizes(strata, costs, had, MinSizes(strata, 1), budget);
    CHECK(Variance(strata, sizes) <= budget * (1.0 + 1e-9) + 1e-9);
    double min_sizes = std::numeric_limits<double>::infinity();
    double dearest = 0.0;
    for (const double cost : costs) dearest += cost;
    for (std::uint64_t a = std::max<std::uint64_t>(had[0], 1); a <= strata[0].count; ++a) {
      for (std::uint64_t b = std::max<std::uint64_t>(had[1], 1); b <= strata[1].count; ++b) {
        for (std::uint64_t c = std::max<std::uint64_t>(had[2], 1); c <= strata[2].count; ++c) {
          if (Variance(strata, {a, b, c}) > budget + 1e-9) continue;
          min_sizes = std::min(min_sizes, FurtherCost(costs, had, {a, b, c}));
        }
      }
    }
    // Stepwise integer sizes are not always optimal, but each differs by at most one sample.
    CHECK(FurtherCost(costs, had, sizes) <= min_sizes + dearest + 1e-9);
  }
}

}  // namespace
}  // namespace stemtap::online
