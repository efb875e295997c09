// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sampling/strata.h"

namespace stemtap::sampling {
namespace {

constexpr ErrorTarget kTarget{0.05, 1.959963984540054};

std::vector<stats::Moments> Cells(const std::vector<double>& sorted) {
  std::vector<stats::Moments> cells;
  for (const double v : sorted) cells.emplace_back(1, v, 0.0);
  return cells;
}

TEST_CASE("fewer than two cells are not divided") {
  CHECK(BestCut({}) == 0);
  CHECK(BestCut(Cells({5})) == 0);
  CHECK(BestCut(Cells({5, 6})) == 1);
}

TEST_CASE("the best cut is between two groups at any magnitude") {
  for (const double origin : {0.0, 1e9, 1e15}) {
    CHECK(BestCut(Cells({origin + 1, origin + 2, origin + 3, origin + 91, origin + 92})) == 3);
  }
}

TEST_CASE("no durations give no strata, and one duration gives one stratum") {
  for (const Method method : {Method::kRoot, Method::kStem}) {
    CHECK(Stratify(method, {}, kTarget).empty());
    const auto one = Stratify(method, Cells({42}), kTarget);
    REQUIRE(one.size() == 1);
    CHECK(one[0].sample_size == 1);
    CHECK(one[0].moments.count() == 1);
  }
}

TEST_CASE("equal durations are one stratum") {
  const auto strata = Stratify(Method::kRoot, Cells(std::vector<double>(1000, 77.0)), kTarget);
  REQUIRE(strata.size() == 1);
  CHECK(strata[0].sample_size == 1);
}

TEST_CASE("if every launch must be sampled, splits are accepted despite rounding") {
  std::mt19937_64 random(8);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    std::vector<double> values;
    for (int i = 0; i < 50; ++i)
      values.push_back(1000.0 + 0.1 * static_cast<double>(random() % 1000000));
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    const auto strata = Stratify(Method::kRoot, Cells(values), {1e-7, 1.96});
    CHECK(strata.size() == values.size());
  }
}

TEST_CASE("two values give two strata with one sample each") {
  std::vector<double> values(500, 1000.0);
  values.insert(values.end(), 500, 9000.0);
  const auto strata = Stratify(Method::kRoot, Cells(values), kTarget);
  REQUIRE(strata.size() == 2);
  CHECK(strata[0].end == 500);
  CHECK(strata[0].sample_size == 1);
  CHECK(strata[1].sample_size == 1);
}

TEST_CASE("one giant among many launches gets its own stratum") {
  std::vector<double> values(100000, 1000.0);
  values.push_back(1e9);
  const auto strata = Stratify(Method::kRoot, Cells(values), kTarget);
  REQUIRE(strata.size() == 2);
  CHECK(strata[1].moments.count() == 1);
}

TEST_CASE("zero durations cause no division by zero") {
  const auto zeros = Stratify(Method::kRoot, Cells({0, 0, 0}), kTarget);
  REQUIRE(zeros.size() == 1);
  const auto mixed = Stratify(Method::kRoot, Cells({0, 0, 0, 5}), kTarget);
  CHECK(mixed.size() >= 1);
  std::uint64_t count = 0;
  for (const auto& s : mixed) count += s.moments.count();
  CHECK(count == 4);
}

TEST_CASE("STEM alone samples at least 30 launches of each cluster, or all of them") {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> durations(9.0, 0.8);
  std::vector<double> values(20000);
  for (double& v : values) v = durations(random);
  std::sort(values.begin(), values.end());
  const auto strata = Stratify(Method::kStem, Cells(values), kTarget);
  CHECK(strata.size() > 1);
  for (const auto& s : strata) {
    CHECK(s.sample_size >= std::min<std::uint64_t>(30, s.moments.count()));
    CHECK(s.sample_size <= 50);
  }
}

TEST_CASE("strata are ordered, without gaps or overlaps") {
  std::mt19937_64 random(2);
  std::vector<double> values(5000);
  for (double& v : values)
    v = std::floor(std::exp(6.0 + static_cast<double>(random() % 1000) / 150.0));
  std::sort(values.begin(), values.end());
  for (const Method method : {Method::kRoot, Method::kStem}) {
    std::size_t next = 0;
    for (const auto& s : Stratify(method, Cells(values), {0.01, 1.96})) {
      CHECK(s.first == next);
      CHECK(s.end > s.first);
      CHECK(s.moments.count() == s.end - s.first);
      next = s.end;
    }
    CHECK(next == values.size());
  }
}

}  // namespace
}  // namespace stemtap::sampling
