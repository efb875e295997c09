// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/k_means.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stemtap::research {
namespace {

double SquaredDistance(const double* a, const double* b, std::size_t columns) {
  double sum = 0.0;
  for (std::size_t c = 0; c < columns; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

// Draws k points, each with a probability proportional to weight x squared distance to earlier
// ones.
std::vector<double> SeedCenters(const PointSet& points, std::size_t k, Rng& rng) {
  std::vector<double> centers;
  std::vector<double> nearest(points.size(), std::numeric_limits<double>::infinity());
  std::vector<double> chance(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    chance[i] = static_cast<double>(points.weights[i]);
  }
  while (centers.size() < k * points.columns) {
    double total = 0.0;
    for (const double c : chance) total += c;
    double at = rng.Uniform() * total;
    std::size_t drawn = 0;
    // If rounding leaves a remainder, the last point with a positive chance is drawn.
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (chance[i] <= 0.0) continue;
      drawn = i;
      if (at < chance[i]) break;
      at -= chance[i];
    }
    centers.insert(centers.end(), points.point(drawn), points.point(drawn) + points.columns);
    for (std::size_t i = 0; i < points.size(); ++i) {
      nearest[i] = std::min(nearest[i],
                            SquaredDistance(points.point(i), points.point(drawn), points.columns));
      chance[i] = static_cast<double>(points.weights[i]) * nearest[i];
    }
  }
  return centers;
}

// Moves each point to its nearest center (ties: the lower one); returns whether any point moved.
// The loop sums the distances to all centers side by side, which compilers vectorize; they may not
// reorder a sum over columns.
bool Assign(const PointSet& points, const std::vector<double>& centers, std::size_t k,
            std::vector<std::uint32_t>& cluster_of, std::vector<double>& distance) {
  std::vector<double> by_column(centers.size());  // column c of center j at [c * k + j]
  for (std::size_t j = 0; j < k; ++j) {
    for (std::size_t c = 0; c < points.columns; ++c) {
      by_column[c * k + j] = centers[j * points.columns + c];
    }
  }
  std::vector<double> to(k);
  bool moved = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::fill(to.begin(), to.end(), 0.0);
    for (std::size_t c = 0; c < points.columns; ++c) {
      const double value = points.point(i)[c];
      const double* column = by_column.data() + c * k;
      for (std::size_t j = 0; j < k; ++j) to[j] += (value - column[j]) * (value - column[j]);
    }
    const auto best =
        static_cast<std::uint32_t>(std::min_element(to.begin(), to.end()) - to.begin());
    moved = moved || cluster_of[i] != best;
    cluster_of[i] = best;
    distance[i] = to[best];
  }
  return moved;
}

// Moves the farthest point that is not the only one in its cluster into each empty cluster.
void FillEmptyClusters(std::size_t k, std::vector<std::uint32_t>& cluster_of,
                       std::vector<double>& distance) {
  std::vector<std::uint64_t> sizes(k, 0);
  for (const std::uint32_t c : cluster_of) ++sizes[c];
  for (std::size_t j = 0; j < k; ++j) {
    if (sizes[j] > 0) continue;
    std::size_t farthest = cluster_of.size();
    for (std::size_t i = 0; i < cluster_of.size(); ++i) {
      if (sizes[cluster_of[i]] < 2) continue;
      if (farthest == cluster_of.size() || distance[i] > distance[farthest]) farthest = i;
    }
    --sizes[cluster_of[farthest]];
    ++sizes[j];
    cluster_of[farthest] = static_cast<std::uint32_t>(j);
    distance[farthest] = 0.0;
  }
}

// Moves each center to the mean of its cluster. Returns the sum of squared distances moved.
double MoveCenters(const PointSet& points, const std::vector<std::uint32_t>& cluster_of,
                   std::vector<double>& centers) {
  const std::vector<double> before = centers;
  std::fill(centers.begin(), centers.end(), 0.0);
  std::vector<double> weights(centers.size() / points.columns, 0.0);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto weight = static_cast<double>(points.weights[i]);
    double* center = centers.data() + cluster_of[i] * points.columns;
    for (std::size_t c = 0; c < points.columns; ++c) center[c] += weight * points.point(i)[c];
    weights[cluster_of[i]] += weight;
  }
  for (std::size_t j = 0; j < weights.size(); ++j) {
    for (std::size_t c = 0; c < points.columns; ++c) centers[j * points.columns + c] /= weights[j];
  }
  return SquaredDistance(before.data(), centers.data(), centers.size());
}

// Returns the variance of the points, averaged over columns.
double MeanVariance(const PointSet& points) {
  std::vector<double> center(points.columns, 0.0);
  const std::vector<std::uint32_t> all(points.size(), 0);
  MoveCenters(points, all, center);
  double sum = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto weight = static_cast<double>(points.weights[i]);
    sum += weight * SquaredDistance(points.point(i), center.data(), points.columns);
    weights += weight;
  }
  return sum / weights / static_cast<double>(points.columns);
}

KMeansClusters OneStart(const PointSet& points, std::size_t k, double settled, Rng& rng) {
  KMeansClusters result;
  result.cluster_of.assign(points.size(), static_cast<std::uint32_t>(k));
  std::vector<double> distance(points.size(), 0.0);
  std::vector<double> centers = SeedCenters(points, k, rng);
  for (int i = 0; i < kKMeansIterations; ++i) {
    if (!Assign(points, centers, k, result.cluster_of, distance)) break;
    FillEmptyClusters(k, result.cluster_of, distance);
    if (MoveCenters(points, result.cluster_of, centers) <= settled) {
      Assign(points, centers, k, result.cluster_of, distance);
      FillEmptyClusters(k, result.cluster_of, distance);
      break;
    }
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    result.inertia +=
        static_cast<double>(points.weights[i]) *
        SquaredDistance(points.point(i), centers.data() + result.cluster_of[i] * points.columns,
                        points.columns);
  }
  return result;
}

}  // namespace

KMeansClusters KMeans(const PointSet& points, std::size_t k, Rng& rng) {
  const double settled = kKMeansSettled * MeanVariance(points);
  KMeansClusters best = OneStart(points, k, settled, rng);
  for (int start = 1; start < kKMeansStarts && k > 1; ++start) {
    KMeansClusters other = OneStart(points, k, settled, rng);
    if (other.inertia < best.inertia) best = std::move(other);
  }
  return best;
}

}  // namespace stemtap::research
