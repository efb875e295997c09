// SPDX-License-Identifier: Apache-2.0
#include "sampling/selection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/rng.h"

namespace stemtap::sampling {
namespace {

struct Shape {
  std::uint64_t count;
  std::uint64_t size;
};

// Returns the mean squared error of the sample mean over many draws.
double SquaredError(Selection selection, const std::vector<double>& values, std::uint64_t size) {
  double mean = 0.0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  Rng rng(1);
  constexpr int kRuns = 4000;
  double squares = 0.0;
  for (int run = 0; run < kRuns; ++run) {
    double sum = 0.0;
    for (const std::uint64_t rank : DrawRanks(selection, values.size(), size, rng)) {
      sum += values[rank];
    }
    squares += std::pow(sum / static_cast<double>(size) - mean, 2);
  }
  return squares / kRuns;
}

TEST_CASE("every rank is selected with the same probability and at most once") {
  // Covers sizes that do and do not divide the count, odd and even part counts, and parts of one.
  for (const Shape shape : {Shape{10, 4}, Shape{10, 5}, Shape{11, 2}, Shape{11, 3}, Shape{9, 8},
                            Shape{12, 1}, Shape{7, 4}}) {
    for (const Selection selection : {Selection::kRandom, Selection::kBalanced}) {
      CAPTURE(shape.count);
      CAPTURE(shape.size);
      Rng rng(5);
      std::vector<int> hits(shape.count, 0);
      constexpr int kRuns = 20000;
      for (int run = 0; run < kRuns; ++run) {
        const auto ranks = DrawRanks(selection, shape.count, shape.size, rng);
        REQUIRE(ranks.size() == shape.size);
        REQUIRE(std::adjacent_find(ranks.begin(), ranks.end(), std::greater_equal<>()) ==
                ranks.end());
        REQUIRE(ranks.back() < shape.count);
        for (const std::uint64_t rank : ranks) ++hits[rank];
      }
      const double chance = static_cast<double>(shape.size) / static_cast<double>(shape.count);
      const double deviation = std::sqrt(kRuns * chance * (1.0 - chance));
      for (const int hit : hits) CHECK(std::abs(hit - kRuns * chance) < 5.0 * deviation);
    }
  }
}

TEST_CASE("selections of zero, all or more than all launches are valid") {
  Rng rng(6);
  CHECK(DrawRanks(Selection::kFirst, 10, 3, rng) == std::vector<std::uint64_t>{0, 1, 2});
  for (const Selection selection : {Selection::kRandom, Selection::kBalanced, Selection::kFirst}) {
    CHECK(DrawRanks(selection, 3, 5, rng) == std::vector<std::uint64_t>{0, 1, 2});
    CHECK(DrawRanks(selection, 3, 0, rng).empty());
  }
}

TEST_CASE("balanced samples are symmetric") {
  Rng rng(7);
  for (int run = 0; run < 100; ++run) {
    const auto ranks = DrawRanks(Selection::kBalanced, 1000, 4, rng);
    for (std::uint64_t k = 0; k < 4; ++k) CHECK(ranks[k] / 250 == k);
    CHECK(ranks[0] + ranks[3] == 999);
    CHECK(ranks[1] + ranks[2] == 999);
  }
}

TEST_CASE("balanced errors cancel out on linear durations and never exceed random errors") {
  std::vector<double> straight;
  std::vector<double> skewed;
  std::vector<double> giant(300, 1.0);
  for (int i = 0; i < 300; ++i) {
    straight.push_back(i);
    skewed.push_back(std::exp(0.005 * i));
  }
  giant.back() = 1000.0;
  CHECK(SquaredError(Selection::kBalanced, straight, 2) < 1e-12);
  CHECK(SquaredError(Selection::kBalanced, skewed, 2) <
        0.1 * SquaredError(Selection::kRandom, skewed, 2));
  CHECK(SquaredError(Selection::kBalanced, skewed, 3) <
        0.1 * SquaredError(Selection::kRandom, skewed, 3));
  // Both selections contain the giant equally often, so errors differ only by chance (one in five).
  CHECK(SquaredError(Selection::kBalanced, giant, 2) <
        1.5 * SquaredError(Selection::kRandom, giant, 2));
}

}  // namespace
}  // namespace stemtap::sampling
