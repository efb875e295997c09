// SPDX-License-Identifier: Apache-2.0
//
// KMeans clusters weighted points around k centers: k-means++ seeding, then Lloyd's iterations, the
// best of several starts. The same seed gives the same clusters.
//
// SOURCE: Arthur and Vassilvitskii, k-means++ (2007); Lloyd, Least squares quantization (1982).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"

namespace stemtap::research {

struct PointSet {
  std::size_t columns = 0;
  std::span<const double> values;          // row-major
  std::span<const std::uint64_t> weights;  // by point, > 0

  std::size_t size() const { return weights.size(); }
  const double* point(std::size_t i) const { return values.data() + i * columns; }
};

struct KMeansClusters {
  std::vector<std::uint32_t> cluster_of;  // by point; every cluster below k has a point
  double inertia = 0.0;                   // weighted sum of squared distances to the centers
};

// Number of starts. A single start ends in a poor local minimum often enough to change which k
// wins.
inline constexpr int kKMeansStarts = 4;
// Lloyd's iterations stop when no point moves, when the centers move less than this share of the
// points' mean variance per column (squared distances, summed over centers), or after
// kKMeansIterations. The values are the defaults of scikit-learn, which the authors of PKA used;
// without the share, the last points to move between neighbors take most of the time.
inline constexpr double kKMeansSettled = 1e-4;
inline constexpr int kKMeansIterations = 300;

// REQUIRES: 1 <= k <= number of points, columns >= 1.
KMeansClusters KMeans(const PointSet& points, std::size_t k, Rng& rng);

}  // namespace stemtap::research
