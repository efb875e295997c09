// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/trend.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/extrapolation/estimate.h"
#include "base/rng.h"
#include "support/random_draws.h"

namespace stemtap::analysis {
namespace {

constexpr double kLaunches = 10'000.0;
constexpr double kDuration = 100.0;

// The samples of each kernel are at positions from `first` to 1, although they represent the whole
// run, whose mean position is 0.5. Values rise by `rise` during the run.
std::vector<ObservedCluster> LateSamples(std::size_t kernels, std::size_t samples, double first,
                                         double rise, double noise, Rng& rng) {
  std::vector<ObservedCluster> clusters;
  for (std::size_t k = 0; k < kernels; ++k) {
    ObservedCluster& cluster = clusters.emplace_back();
    cluster.kernel = k;
    cluster.count = kLaunches;
    cluster.mean_ns = kDuration;
    cluster.mean_position = 0.5;
    for (std::size_t i = 0; i < samples; ++i) {
      const double position = first + (1.0 - first) * rng.Uniform();
      const double value = (1.0 + rise * position) * (1.0 + noise * test::Normal(rng));
      cluster.seen.push_back({kDuration, value, true, position});
    }
  }
  return clusters;
}

double TruthOf(std::size_t kernels, double rise) {
  return static_cast<double>(kernels) * kLaunches * (1.0 + rise * 0.5);
}

TEST_CASE("a linear trend is removed exactly if values have no noise") {
  Rng rng(1);
  for (const double rise : {0.2, 1.0, -0.4}) {
    CAPTURE(rise);
    const auto clusters = LateSamples(4, 5, 0.5, rise, 0.0, rng);
    REQUIRE(DependsOnTrend(clusters));
    const Estimate fitted = EstimateTotal(clusters, Calibration::kFitted, 0.95);
    CHECK(fitted.value == doctest::Approx(TruthOf(4, rise)).epsilon(2e-4));
    // The plain estimate is the sum of weights times values, by definition.
    const Estimate plain = EstimateTotal(clusters, Calibration::kPlain, 0.95);
    CHECK(std::abs(plain.value / TruthOf(4, rise) - 1.0) > 0.03);
  }
}

TEST_CASE("samples that may be any launch of their cluster have no trend") {
  Rng rng(2);
  auto clusters = LateSamples(4, 5, 0.5, 0.2, 0.01, rng);
  for (ObservedCluster& cluster : clusters) cluster.mean_position = NAN;
  CHECK_FALSE(DependsOnTrend(clusters));
  const Estimate with = EstimateTotal(clusters, Calibration::kFitted, 0.95);
  for (ObservedCluster& cluster : clusters) {
    for (ObservedSample& sample : cluster.seen) sample.position = 0.0;
  }
  const Estimate without = EstimateTotal(clusters, Calibration::kFitted, 0.95);
  CHECK(with.value == without.value);
  CHECK(with.upper == without.upper);
}

// 400 draws: a standard error of 1.1 %.
TEST_CASE("the interval covers the total with and without a trend") {
  for (const double rise : {0.0, 0.2}) {
    for (const std::size_t samples : {std::size_t{2}, std::size_t{10}}) {
      CAPTURE(rise);
      CAPTURE(samples);
      Rng rng(3);
      int covered = 0;
      double error = 0.0;
      constexpr int kDraws = 400;
      for (int i = 0; i < kDraws; ++i) {
        const auto clusters = LateSamples(8, samples, 0.4, rise, 0.05, rng);
        const Estimate of = EstimateTotal(clusters, Calibration::kFitted, 0.95);
        const double truth = TruthOf(8, rise);
        covered += of.lower <= truth && truth <= of.upper;
        error += (of.value / truth - 1.0) / kDraws;
      }
      CHECK(covered >= 0.92 * kDraws);
      // Few samples leave a part of the trend, because the prior expects none.
      CHECK(std::abs(error) < (samples > 2 ? 0.003 : 0.012));
    }
  }
}

TEST_CASE("without two samples of a kernel, the slope is the prior") {
  Rng rng(4);
  const auto clusters = LateSamples(3, 1, 0.5, 0.2, 0.0, rng);
  Trend trend;
  std::vector<Part> parts(3);
  for (Part& part : parts) part.seen.push_back({1.0, 0.0, 0.0});
  ImproveTrend(clusters, parts, trend);
  CHECK(std::isinf(trend.variance));
  const Trend moderated = Moderated(trend);
  CHECK(moderated.slope == 0.0);
  CHECK(std::sqrt(moderated.variance) == doctest::Approx(0.2));
}

TEST_CASE("kernels whose slopes differ make the slope uncertain") {
  Rng rng(5);
  const auto variance_of = [&](double other_rise) {
    auto clusters = LateSamples(8, 20, 0.0, 0.2, 0.01, rng);
    for (std::size_t k = 4; k < clusters.size(); ++k) {
      for (ObservedSample& sample : clusters[k].seen) {
        sample.value *= (1.0 + other_rise * sample.position) / (1.0 + 0.2 * sample.position);
      }
    }
    std::vector<Part> parts(clusters.size());
    for (std::size_t k = 0; k < clusters.size(); ++k) {
      for (std::size_t i = 0; i < clusters[k].seen.size(); ++i) {
        parts[k].seen.push_back({1.0, 0.0, 0.0});
      }
    }
    Trend trend;
    ImproveTrend(clusters, parts, trend);
    return trend.variance;
  };
  CHECK(variance_of(-0.2) > 10.0 * variance_of(0.2));
}

TEST_CASE("a falling line is not extrapolated below a quarter of the value at the center") {
  const Trend trend{-2.0, 0.0, 10.0, 0.5};
  CHECK(trend.FactorAt(0.5) == 1.0);
  CHECK(trend.FactorAt(0.75) == 0.5);
  CHECK(trend.FactorAt(1.0) == 0.25);
}

}  // namespace
}  // namespace stemtap::analysis
