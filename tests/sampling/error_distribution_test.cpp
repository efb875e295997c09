// SPDX-License-Identifier: Apache-2.0
#include "sampling/error_distribution.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace stemtap::sampling {
namespace {

using Durations = std::vector<double>;

// SmallStratum is a stratum whose cells are single durations.
struct SmallStratum {
  Durations durations;
  std::uint64_t samples;
  std::vector<stats::Moments> cells;

  SmallStratum(Durations of, std::uint64_t m) : durations(std::move(of)), samples(m) {
    std::sort(durations.begin(), durations.end());
    for (const double d : durations) cells.emplace_back(1, d, 0.0);
  }
  SampledStratum view(std::uint64_t joined = 0) const {
    stats::Moments all;
    for (const stats::Moments& cell : cells) all.Merge(cell);
    return {cells, Stratum(all), samples, joined};
  }
};

// Returns the errors of all samples of a stratum. All have the same probability.
std::vector<double> ErrorsOf(const SmallStratum& s, std::uint64_t joined) {
  const auto n = static_cast<double>(s.durations.size());
  double mean = 0.0;
  for (const double d : s.durations) mean += d / n;
  const double scale = (n + static_cast<double>(joined)) / static_cast<double>(s.samples);
  std::vector<double> errors;
  for (std::uint32_t set = 0; set < (1u << s.durations.size()); ++set) {
    if (static_cast<std::uint64_t>(std::popcount(set)) != s.samples) continue;
    double error = 0.0;
    for (std::size_t i = 0; i < s.durations.size(); ++i) {
      if ((set >> i & 1) != 0) error += scale * (s.durations[i] - mean);
    }
    errors.push_back(error);
  }
  return errors;
}

// Returns the share of `errors` that are further from 0 than `bound`.
double Misses(const std::vector<double>& errors, double bias, double bound) {
  const auto beyond = std::count_if(errors.begin(), errors.end(),
                                    [&](double e) { return std::fabs(e + bias) > bound; });
  return static_cast<double>(beyond) / static_cast<double>(errors.size());
}

TEST_CASE("the quantile equals the one of the enumeration of all samples") {
  const std::vector<SmallStratum> small = {
      {{1'000, 1'170, 1'400, 2'950, 4'100, 4'170}, 2},
      {{5'000, 5'003, 7'500, 9'100, 20'000}, 3},  // 2 of 5 are left out
      {{11'000, 11'900, 14'400, 12'000}, 1},
  };
  for (const std::uint64_t joined : {0, 3}) {
    for (const double bias : {0.0, 2'500.0, -900.0}) {
      std::vector<double> errors = {0.0};
      std::vector<SampledStratum> strata;
      for (const SmallStratum& s : small) {
        std::vector<double> sums;
        for (const double error : ErrorsOf(s, joined)) {
          for (const double before : errors) sums.push_back(before + error);
        }
        errors = sums;
        strata.push_back(s.view(joined));
      }
      for (const double miss : {0.499, 0.199, 0.049, 0.0099}) {  // not a multiple of 1/600
        CAPTURE(joined);
        CAPTURE(bias);
        CAPTURE(miss);
        const double bound = ErrorQuantile(strata, bias, miss);
        // Rounding to the grid moves 6 % of the misses or one of the 600 samples over the bound.
        CHECK(Misses(errors, bias, bound) <= 1.06 * miss + 1.01 / 600.0);
        // A bound that is 2.5 % smaller is missed. One of the 600 samples is 0.17 %.
        CHECK(Misses(errors, bias, 0.975 * bound) > 0.9 * miss - 0.002);
      }
    }
  }
}

TEST_CASE("the quantile of one draw is exact, with and without bias") {
  const SmallStratum s({1'000, 2'000, 4'000, 9'000}, 1);
  const SampledStratum view = s.view();
  // The errors are 4 x (-3,000, -2,000, 0, 5,000).
  CHECK(ErrorQuantile(std::span(&view, 1), 0.0, 0.20) == doctest::Approx(20'000));
  CHECK(ErrorQuantile(std::span(&view, 1), 0.0, 0.26) == doctest::Approx(12'000));
  CHECK(ErrorQuantile(std::span(&view, 1), 0.0, 0.51) == doctest::Approx(8'000));
  CHECK(ErrorQuantile(std::span(&view, 1), 0.0, 0.76) == doctest::Approx(0.0));
  CHECK(ErrorQuantile(std::span(&view, 1), 1'000.0, 0.20) == doctest::Approx(21'000));
  CHECK(ErrorQuantile(std::span(&view, 1), -1'000.0, 0.20) == doctest::Approx(19'000));
  CHECK(ErrorQuantile(std::span(&view, 1), -13'000.0, 0.20) == doctest::Approx(25'000));
}

// Returns the share of simulated errors beyond `bound`.
double SimulatedMisses(std::vector<SmallStratum> strata, double bound, int draws) {
  Rng rng(7);
  int misses = 0;
  for (int i = 0; i < draws; ++i) {
    double error = 0.0;
    for (SmallStratum& s : strata) {
      const auto n = static_cast<double>(s.durations.size());
      double sum = 0.0;
      for (std::size_t k = 0; k < s.samples; ++k) {
        std::swap(s.durations[k], s.durations[k + rng.Below(s.durations.size() - k)]);
        sum += s.durations[k];
      }
      double total = 0.0;
      for (const double d : s.durations) total += d;
      error += n / static_cast<double>(s.samples) * sum - total;
    }
    misses += std::fabs(error) > bound;
  }
  return static_cast<double>(misses) / draws;
}

Durations Skewed(std::size_t count, double longest, Rng& rng) {
  Durations durations;
  for (std::size_t i = 0; i < count; ++i) {
    durations.push_back(1'000.0 * std::exp(2.0 * rng.Uniform() * rng.Uniform()));
  }
  durations.back() = longest;
  return durations;
}

TEST_CASE("the quantile fits simulated samples of any size from skewed strata") {
  Rng rng(3);
  constexpr int kDraws = 40'000;
  for (const std::uint64_t samples : {2, 7, 16, 17, 30, 45, 55}) {
    for (const double longest : {5'000.0, 40'000.0}) {
      const std::vector<SmallStratum> strata = {{Skewed(60, longest, rng), samples},
                                                {Skewed(60, 9'000.0, rng), samples}};
      const std::vector<SampledStratum> views = {strata[0].view(), strata[1].view()};
      for (const double miss : {0.5, 0.1, 0.02}) {
        CAPTURE(samples);
        CAPTURE(longest);
        CAPTURE(miss);
        const double bound = ErrorQuantile(views, 0.0, miss);
        // Six standard errors of 40,000 draws, and 5 % for the model of independent launches.
        const double noise = 6.0 * std::sqrt(miss * (1.0 - miss) / kDraws);
        CHECK(SimulatedMisses(strata, bound, kDraws) <= 1.05 * miss + noise);
        CHECK(SimulatedMisses(strata, 0.96 * bound, kDraws) >= 0.93 * miss - noise);
      }
    }
  }
}

TEST_CASE("one draw from two values within a cell is within the bound, whatever their shares are") {
  for (const double late : {0.5, 0.24, 0.1, 0.06}) {
    CAPTURE(late);
    // Ticks of 32 ns: 6,080 and 6,112 ns are in one bin.
    const double mean = 6'080.0 + 32.0 * late;
    const double variance = 32.0 * 32.0 * late * (1.0 - late);
    const std::vector<stats::Moments> cells = {{1'000, mean, 1'000 * variance}};
    const SampledStratum s = {cells, Stratum(cells.front()), 1};
    CHECK(ErrorQuantile(std::span(&s, 1), 0.0, 0.05) >= 1'000.0 * (6'112.0 - mean));
    // No duration of the bin is further away.
    CHECK(ErrorQuantile(std::span(&s, 1), 0.0, 0.0001) <= 1'000.0 * (6'143.0 - mean) * 1.0001);
  }
}

TEST_CASE("a cell of two launches has two known durations") {
  const std::vector<stats::Moments> cells = {{2, 6'100.0, 200.0}};
  const SampledStratum s = {cells, Stratum(cells.front()), 1};
  CHECK(ErrorQuantile(std::span(&s, 1), 0.0, 0.01) == doctest::Approx(20.0));
}

TEST_CASE("many equal strata have a normal error") {
  const SmallStratum s({1'000, 1'200, 1'400, 1'600}, 1);
  const std::vector<SampledStratum> strata(4'000, s.view());
  const double deviation = std::sqrt(4'000.0 * EstimateVariance(strata.front().whole, 1));
  CHECK(ErrorQuantile(strata, 0.0, 0.05) == doctest::Approx(1.95996 * deviation).epsilon(0.01));
  CHECK(ErrorQuantile(strata, 0.0, 1e-4) == doctest::Approx(3.89059 * deviation).epsilon(0.01));
  CHECK(ErrorQuantile(strata, 0.0, 1e-6) == doctest::Approx(4.89164 * deviation).epsilon(0.01));
}

TEST_CASE("rare jumps far beyond the standard deviation have their own place on the grid") {
  // One launch in 100,000 takes 10 million times as long, in one of three strata.
  const std::vector<stats::Moments> rare = {{99'999, 1'000.0, 0.0}, {1, 1e10, 0.0}};
  const std::vector<stats::Moments> common = {{500, 1'000.0, 0.0}, {500, 1'000'000.0, 0.0}};
  stats::Moments all_rare;
  for (const stats::Moments& cell : rare) all_rare.Merge(cell);
  stats::Moments all_common;
  for (const stats::Moments& cell : common) all_common.Merge(cell);
  const SampledStratum a = {rare, Stratum(all_rare), 1};
  const SampledStratum b = {common, Stratum(all_common), 1};
  const std::vector<SampledStratum> strata = {a, b, b};
  const double hit = 1e5 * 1e10 - all_rare.sum();
  // The jump has a probability of 1e-5.
  CHECK(ErrorQuantile(strata, 0.0, 1e-4) < 0.02 * hit);
  CHECK(ErrorQuantile(strata, 0.0, 1e-6) == doctest::Approx(hit).epsilon(0.01));
}

}  // namespace
}  // namespace stemtap::sampling
