// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/trend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace stemtap::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Prior standard deviation of the slope. Without information about the slope, a metric is assumed
// to change by about a fifth during the run.
constexpr double kPriorSlope = 0.2;

// Minimum value relative to the center: a line that falls to 0 is not extrapolated.
constexpr double kMinFactor = 0.25;

// GroupPoint is a sample relative to the weighted mean of its group.
struct GroupPoint {
  double x = 0.0;       // position
  double y = 0.0;       // value relative to the curve
  double weight = 0.0;  // time that the sample represents
};

// Slope sums over groups. A group is the samples of one cluster, or the single samples of a kernel.
struct SlopeSums {
  double xx = 0.0;
  double xy = 0.0;
  std::vector<std::vector<GroupPoint>> kernels;  // points of all groups of each kernel
  double samples = 0.0;
  double groups = 0.0;

  void Add(std::vector<GroupPoint>& group) {
    GroupPoint mean;
    for (const GroupPoint& point : group) {
      mean.weight += point.weight;
      mean.x += point.weight * point.x;
      mean.y += point.weight * point.y;
    }
    mean.x /= mean.weight;
    mean.y /= mean.weight;
    if (group.size() > 1 && mean.y > 0.0) {
      for (GroupPoint point : group) {
        point.x -= mean.x;
        point.y = point.y / mean.y - 1.0;
        xx += point.weight * point.x * point.x;
        xy += point.weight * point.x * point.y;
        kernels.back().push_back(point);
      }
      samples += static_cast<double>(group.size());
      groups += 1.0;
    }
    group.clear();
  }
};

// ScoreSquares is the sum of squared contributions to the score of a slope, and what their number
// is worth: the square of their expected sum, divided by the sum of their squared expectations.
struct ScoreSquares {
  double squares = 0.0;
  double expected = 0.0;
  double expected_squares = 0.0;

  void Add(double score, double expectation) {
    squares += score * score;
    expected += expectation;
    expected_squares += expectation * expectation;
  }
  double Number() const {
    return expected_squares > 0.0 ? expected * expected / expected_squares : 0.0;
  }
};

// Sets the variance of the slope: the larger of two estimates, from the residuals of the samples
// and from the sums of each kernel, which also contain how much the slopes of kernels differ.
void SetVariance(const SlopeSums& sums, double change, Trend& trend) {
  ScoreSquares by_sample;
  ScoreSquares by_kernel;
  for (const std::vector<GroupPoint>& kernel : sums.kernels) {
    double score = 0.0;
    double xx = 0.0;
    for (const GroupPoint& point : kernel) {
      const double own = point.weight * point.x * (point.y - change * point.x);
      by_sample.Add(own, point.weight * point.weight * point.x * point.x);
      score += own;
      xx += point.weight * point.weight * point.x * point.x;
    }
    if (!kernel.empty()) by_kernel.Add(score, xx);
  }
  const double free = sums.samples - sums.groups - 1.0;
  trend.variance = by_sample.squares / (sums.xx * sums.xx) * sums.samples / free;
  trend.degrees = std::clamp(by_sample.Number() - 1.0, 1.0, free);
  const double kernels = by_kernel.Number();
  if (kernels < 2.0) return;
  const double variance = by_kernel.squares / (sums.xx * sums.xx) * kernels / (kernels - 1.0);
  if (!(variance > trend.variance)) return;
  trend.variance = variance;
  trend.degrees = std::min(trend.degrees, kernels - 1.0);
}

}  // namespace

double Trend::FactorAt(double position) const {
  return std::max(kMinFactor, 1.0 + slope * (position - center));
}

bool DependsOnTrend(std::span<const ObservedCluster> clusters) {
  return std::any_of(clusters.begin(), clusters.end(), [](const ObservedCluster& cluster) {
    return !cluster.seen.empty() && !std::isnan(cluster.mean_position);
  });
}

std::vector<ObservedCluster> AtCenter(std::span<const ObservedCluster> clusters,
                                      const Trend& trend) {
  std::vector<ObservedCluster> centered(clusters.begin(), clusters.end());
  for (ObservedCluster& cluster : centered) {
    for (ObservedSample& sample : cluster.seen) sample.value /= trend.FactorAt(sample.position);
  }
  return centered;
}

std::vector<ObservedCluster> AtMeanPositions(std::span<const ObservedCluster> clusters,
                                             const Trend& trend) {
  std::vector<ObservedCluster> moved(clusters.begin(), clusters.end());
  for (ObservedCluster& cluster : moved) {
    if (std::isnan(cluster.mean_position)) continue;
    const double wanted = trend.FactorAt(cluster.mean_position);
    for (ObservedSample& sample : cluster.seen) {
      sample.value *= wanted / trend.FactorAt(sample.position);
    }
  }
  return moved;
}

void ImproveTrend(std::span<const ObservedCluster> centered, std::span<const Part> parts,
                  Trend& trend) {
  SlopeSums sums;
  std::vector<GroupPoint> group;
  std::vector<GroupPoint> singles;
  double positions = 0.0;
  double weights = 0.0;
  for (std::size_t h = 0; h < centered.size(); ++h) {
    const ObservedCluster& cluster = centered[h];
    if (h == 0 || cluster.kernel != centered[h - 1].kernel) sums.kernels.emplace_back();
    for (std::size_t i = 0; i < cluster.seen.size(); ++i) {
      const ObservedSample& sample = cluster.seen[i];
      const double fitted = parts[h].seen[i].fitted;
      if (!(fitted > 0.0)) continue;
      const double weight =
          cluster.count * cluster.mean_ns / static_cast<double>(cluster.seen.size());
      positions += weight * sample.position;
      weights += weight;
      (cluster.seen.size() > 1 ? group : singles)
          .push_back({sample.position, sample.value / fitted, weight});
    }
    if (!group.empty()) sums.Add(group);
    const bool last = h + 1 == centered.size() || centered[h + 1].kernel != cluster.kernel;
    if (last && !singles.empty()) sums.Add(singles);
  }
  trend.variance = kInfinity;
  trend.degrees = kInfinity;
  if (!(sums.xx > 0.0) || sums.samples - sums.groups < 2.0) return;
  const double change = sums.xy / sums.xx;
  // The slope is relative to the value at the center, which moves the slope as well.
  trend.slope += change;
  const double center = positions / weights;
  trend.slope /= trend.FactorAt(center);
  trend.center = center;
  SetVariance(sums, change, trend);
}

Trend Moderated(const Trend& trend) {
  constexpr double kPrior = kPriorSlope * kPriorSlope;
  Trend moderated = trend;
  if (!std::isfinite(trend.variance)) {
    moderated.slope = 0.0;
    moderated.variance = kPrior;
    moderated.degrees = kInfinity;
    return moderated;
  }
  const double ratio = trend.variance / kPrior;
  moderated.slope = trend.slope / (1.0 + ratio);
  moderated.variance = trend.variance / (1.0 + ratio);
  moderated.degrees = trend.degrees * (1.0 + ratio) * (1.0 + ratio);
  return moderated;
}

double SlopeLever(std::span<const ObservedCluster> clusters, std::span<const Part> parts) {
  double lever = 0.0;
  for (std::size_t h = 0; h < clusters.size(); ++h) {
    const ObservedCluster& cluster = clusters[h];
    if (cluster.seen.empty() || std::isnan(cluster.mean_position)) continue;
    double positions = 0.0;
    for (const ObservedSample& sample : cluster.seen) positions += sample.position;
    lever += parts[h].total *
             (cluster.mean_position - positions / static_cast<double>(cluster.seen.size()));
  }
  return lever;
}

}  // namespace stemtap::analysis
