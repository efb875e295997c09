// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/density_cuts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/rng.h"

namespace stemtap::research {
namespace {

CountedValues Counted(const std::vector<double>& values) {
  std::map<double, std::uint64_t> counts;
  for (const double v : values) ++counts[v];
  CountedValues result;
  for (const auto& [value, count] : counts) {
    result.values.push_back(value);
    result.counts.push_back(count);
  }
  return result;
}

// Checks that the parts cover all values and that the variation of each part is below the
// threshold.
void CheckParts(const CountedValues& v, const std::vector<std::size_t>& starts, double threshold) {
  REQUIRE(!starts.empty());
  CHECK(starts.front() == 0);
  CHECK(std::is_sorted(starts.begin(), starts.end()));
  CHECK(std::adjacent_find(starts.begin(), starts.end()) == starts.end());
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const std::size_t end = s + 1 < starts.size() ? starts[s + 1] : v.values.size();
    REQUIRE(end > starts[s]);
    CHECK(CoefficientOfVariation(v, starts[s], end) < threshold);
  }
}

TEST_CASE("the coefficient of variation is the population standard deviation over the mean") {
  // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, standard deviation 2.
  const CountedValues v = Counted({2, 4, 4, 4, 5, 5, 7, 9});
  CHECK(CoefficientOfVariation(v, 0, v.values.size()) == doctest::Approx(0.4).epsilon(1e-12));
  CHECK(CoefficientOfVariation(v, 1, 2) == 0.0);
  CHECK(CoefficientOfVariation(Counted({0, 0}), 0, 1) == 0.0);
}

TEST_CASE("durations that vary less than the threshold are not divided") {
  CHECK(DensityCuts(Counted({7}), 0.4) == std::vector<std::size_t>{0});
  CHECK(DensityCuts(Counted({7, 7, 7}), 0.4) == std::vector<std::size_t>{0});
  CHECK(DensityCuts(Counted({0, 0}), 0.4) == std::vector<std::size_t>{0});
  const CountedValues v = Counted({2, 4, 4, 4, 5, 5, 7, 9});
  CHECK(DensityCuts(v, 0.401) == std::vector<std::size_t>{0});
  CHECK(DensityCuts(v, 0.399).size() > 1);
}

TEST_CASE("three modes are divided at their valleys") {
  Rng rng(1);
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) {
    const double centres[] = {1'000, 2'000, 5'000};
    // The sum of four uniform values is bell-shaped and within 100 of the center.
    double noise = -2.0;
    for (int k = 0; k < 4; ++k) noise += rng.Uniform();
    values.push_back(centres[i % 3] + 50.0 * noise);
  }
  const CountedValues v = Counted(values);
  const auto starts = DensityCuts(v, 0.4);
  REQUIRE(starts.size() == 3);
  CheckParts(v, starts, 0.4);
  CHECK(std::abs(v.values[starts[1]] - 2'000) < 101);
  CHECK(std::abs(v.values[starts[2]] - 5'000) < 101);
}

TEST_CASE("two distant values give two parts for any frequencies") {
  std::vector<double> values(1000, 10.0);
  values.push_back(1e9);
  CHECK(DensityCuts(Counted(values), 0.4) == std::vector<std::size_t>{0, 1});
  CHECK(DensityCuts(Counted({1, 9e18}), 0.4) == std::vector<std::size_t>{0, 1});
  CHECK(DensityCuts(Counted({1, 1e9}), 0.4) == std::vector<std::size_t>{0, 1});
  CHECK(DensityCuts(Counted({0, 5}), 0.4) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("parts vary less than the threshold even without valleys") {
  Rng rng(3);
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) values.push_back(std::pow(10.0, 9.0 * rng.Uniform()));
  const CountedValues v = Counted(values);
  const auto starts = DensityCuts(v, 0.4);
  CheckParts(v, starts, 0.4);
  // A 2-means cut halves the range of such values, and halving 9 decades takes 30 cuts. Random
  // valleys in sparse regions add more (73 in total). A quartile-based bandwidth made 412 cuts.
  CHECK(starts.size() < 100);
}

TEST_CASE("parts of random values meet the guarantee") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    std::vector<double> values;
    const std::uint64_t n = 1 + rng.Below(200);
    for (std::uint64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(rng.Below(1000)));
    const CountedValues v = Counted(values);
    for (const double threshold : {0.05, 0.4, 1.0}) {
      CheckParts(v, DensityCuts(v, threshold), threshold);
    }
  }
}

}  // namespace
}  // namespace stemtap::research
