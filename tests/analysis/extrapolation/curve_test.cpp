// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/curve.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "analysis/extrapolation/estimate.h"
#include "base/rng.h"
#include "support/random_draws.h"

namespace stemtap::analysis {
namespace {

constexpr std::size_t kKernels = 200;
constexpr double kMeanNs = 1000.0;

// ClusterShape describes a cluster of 1,000 launches with lognormal durations; `samples` of them
// have values.
struct ClusterShape {
  double width;       // standard deviation / mean
  double elasticity;  // value = 1 - elasticity + elasticity * duration / mean, times noise
  double noise;       // standard deviation of the log of the noise
  int samples;
};

ObservedCluster MakeCluster(std::size_t kernel, const ClusterShape& shape, Rng& rng) {
  ObservedCluster cluster{kernel, 1000.0, kMeanNs, shape.width * kMeanNs, {}};
  const double log_variance = std::log1p(shape.width * shape.width);
  for (int i = 0; i < shape.samples; ++i) {
    const double duration =
        std::exp(std::sqrt(log_variance) * test::Normal(rng) - 0.5 * log_variance);
    const double noise =
        std::exp(shape.noise * test::Normal(rng) - 0.5 * shape.noise * shape.noise);
    cluster.seen.push_back(
        {duration * kMeanNs, (1.0 + shape.elasticity * (duration - 1.0)) * noise});
  }
  return cluster;
}

// Builds a run in which every kernel has one cluster of each shape.
std::vector<ObservedCluster> MakeRun(const ClusterShape& narrow, const ClusterShape& wide,
                                     Rng& rng) {
  std::vector<ObservedCluster> clusters;
  for (std::size_t k = 0; k < kKernels; ++k) {
    clusters.push_back(MakeCluster(k, narrow, rng));
    clusters.push_back(MakeCluster(k, wide, rng));
  }
  return clusters;
}

struct MeanElasticity {
  double narrow = 0.0;
  double wide = 0.0;
};

MeanElasticity FitMeans(const std::vector<ObservedCluster>& clusters) {
  const auto kernels = ByKernel(clusters);
  const std::vector<Curve> curves = FitCurves(kernels);
  MeanElasticity mean;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    mean.narrow += curves[k].WithinAt(kernels[k][0]) / kKernels;
    mean.wide += curves[k].WithinAt(kernels[k][1]) / kKernels;
  }
  return mean;
}

TEST_CASE("the elasticity within clusters may change with their width") {
  Rng rng(1);
  for (const auto& [narrow, wide] : {std::pair{0.8, 0.2}, {0.2, 0.8}, {0.5, 0.5}}) {
    CAPTURE(narrow);
    CAPTURE(wide);
    const MeanElasticity mean = FitMeans(MakeRun({0.3, narrow, 0.1, 6}, {0.8, wide, 0.1, 4}, rng));
    CHECK(std::fabs(mean.narrow - narrow) < 0.15);
    CHECK(std::fabs(mean.wide - wide) < 0.15);
  }
}

TEST_CASE("a few clusters do not decide how the elasticity changes with width") {
  Rng rng(2);
  std::vector<ObservedCluster> clusters = MakeRun({0.3, 0.8, 0.3, 2}, {0.8, 0.2, 0.3, 2}, rng);
  clusters.resize(4);
  const std::vector<Curve> curves = FitCurves(ByKernel(clusters));
  CHECK(std::fabs(curves[0].tilt) < 0.05);
}

TEST_CASE("narrow clusters that do not follow durations do not determine wide ones") {
  Rng rng(3);
  // Returns the standard deviations of the elasticities of a narrow and of a wide cluster, the
  // latter with two samples that are almost alike.
  const auto doubts = [&](double elasticity) {
    std::vector<ObservedCluster> clusters;
    for (std::size_t k = 0; k < 30; ++k) {
      clusters.push_back(MakeCluster(k, {0.02, elasticity, 0.001, 2}, rng));
    }
    clusters.push_back({30, 18.0, kMeanNs, 1.2 * kMeanNs, {{700.0, 0.7}, {701.0, 0.702}}});
    const std::vector<Curve> curves = FitCurves(ByKernel(clusters));
    return std::pair(std::sqrt(curves[0].CommonVarianceAt(clusters[0])),
                     std::sqrt(curves[30].CommonVarianceAt(clusters[30])));
  };
  const auto [narrow, wide] = doubts(0.0);
  CHECK(narrow < 0.05);
  CHECK(wide > 0.8);  // 1.3: a full return to 1 over a factor of 24 in width
  // If narrow clusters follow durations, wide ones do too.
  CHECK(doubts(1.0).second < 0.3);
}

TEST_CASE("clusters with single samples determine the slopes between and within clusters") {
  Rng rng(4);
  std::vector<ObservedCluster> clusters;
  for (std::size_t k = 0; k < kKernels; ++k) {
    for (const double size : {1.0, 10.0}) {
      ObservedCluster cluster = MakeCluster(k, {0.6, 0.5, 0.1, 1}, rng);
      cluster.mean_ns *= size;
      cluster.stddev_ns *= size;
      cluster.seen.front().duration_ns *= size;
      cluster.seen.front().value *= size;
      clusters.push_back(cluster);
    }
  }
  const std::vector<Curve> curves = FitCurves(ByKernel(clusters));
  CHECK(std::fabs(curves[0].between - 1.0) < 0.05);
  CHECK(std::fabs(curves[0].within - 0.5) < 0.1);
  // Two clusters do not determine a slope within clusters.
  clusters.resize(2);
  CHECK(FitCurves(ByKernel(clusters))[0].within > 0.75);
}

// Returns half of the interval as a multiple of 1.96 times the true standard error.
double WidthOfInterval(const ClusterShape& narrow, const ClusterShape& wide, Rng& rng) {
  const std::vector<ObservedCluster> clusters = MakeRun(narrow, wide, rng);
  double variance = 0.0;
  for (const ClusterShape& shape : {narrow, wide}) {
    // Variance of d e / mean with independent lognormal d and e. Calibration removes the variance
    // of d.
    const double of_noise = std::expm1(shape.noise * shape.noise);
    variance += kKernels * 1e6 / shape.samples * (1.0 - shape.samples / 1e3) * of_noise *
                (1.0 + shape.width * shape.width);
  }
  const Estimate estimate = EstimateTotal(clusters, Calibration::kFitted, 0.95);
  return 0.5 * (estimate.upper - estimate.lower) / (1.96 * std::sqrt(variance));
}

TEST_CASE("the spread of values may change with the width of clusters") {
  Rng rng(3);
  // Nearly all samples are in one kind of cluster, and nearly all uncertainty is in the other.
  // Pooled spreads would make the intervals about half as wide as they should be.
  for (const double width : {WidthOfInterval({0.2, 1.0, 0.1, 12}, {0.8, 1.0, 0.4, 3}, rng),
                             WidthOfInterval({0.2, 1.0, 0.4, 3}, {0.8, 1.0, 0.1, 12}, rng)}) {
    CHECK(width > 0.8);
    CHECK(width < 1.3);
  }
}

}  // namespace
}  // namespace stemtap::analysis
