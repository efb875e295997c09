// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/k_means.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

namespace stemtap::research {
namespace {

// Returns the smallest inertia of any partition of `points` (one column) into at most k clusters,
// by exhaustive search.
double LeastInertia(const std::vector<double>& points, const std::vector<std::uint64_t>& weights,
                    std::size_t k) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> of(points.size(), 0);
  while (true) {
    double inertia = 0.0;
    for (std::size_t j = 0; j < k; ++j) {
      double weight = 0.0, sum = 0.0, squares = 0.0;
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (of[i] != j) continue;
        const auto w = static_cast<double>(weights[i]);
        weight += w;
        sum += w * points[i];
        squares += w * points[i] * points[i];
      }
      if (weight > 0.0) inertia += squares - sum * sum / weight;
    }
    least = std::min(least, inertia);
    std::size_t digit = 0;
    while (digit < of.size() && ++of[digit] == k) of[digit++] = 0;
    if (digit == of.size()) return least;
  }
}

TEST_CASE("k-means finds the best division of a few points") {
  Rng random(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> values;
    std::vector<std::uint64_t> weights;
    for (int i = 0; i < 7; ++i) {
      values.push_back(random.Uniform() * 100.0);
      weights.push_back(1 + random.Below(5));
    }
    for (std::size_t k = 1; k <= 3; ++k) {
      // Four starts miss the optimum of seven random points in some of a hundred cases. With these
      // seeds, sixteen calls always find the optimum.
      double best = std::numeric_limits<double>::infinity();
      for (std::uint64_t seed = 0; seed < 16; ++seed) {
        Rng rng(seed);
        best = std::min(best, KMeans({1, values, weights}, k, rng).inertia);
      }
      CHECK(best == doctest::Approx(LeastInertia(values, weights, k)).epsilon(1e-9));
    }
  }
}

TEST_CASE("distant groups are found for any seed") {
  std::vector<double> values;
  Rng random(9);
  const double centres[5][2] = {{0, 0}, {100, 0}, {0, 100}, {100, 100}, {50, 300}};
  for (int i = 0; i < 200; ++i) {
    values.push_back(centres[i % 5][0] + random.Uniform());
    values.push_back(centres[i % 5][1] + random.Uniform());
  }
  const std::vector<std::uint64_t> weights(200, 1);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const KMeansClusters found = KMeans({2, values, weights}, 5, rng);
    std::set<std::uint32_t> ids;
    for (std::size_t i = 0; i < 200; ++i) {
      CHECK(found.cluster_of[i] == found.cluster_of[i % 5]);
      ids.insert(found.cluster_of[i]);
    }
    CHECK(ids.size() == 5);
    // A uniform square with side 1 has variance 1/12 in each direction. There are 200 points.
    CHECK(found.inertia < 200.0 * 2.0 / 12.0 * 1.3);
  }
}

TEST_CASE("every cluster has a point even if points coincide") {
  const std::vector<double> same(6, 4.0);
  const std::vector<std::uint64_t> weights(6, 2);
  for (std::size_t k = 1; k <= 6; ++k) {
    Rng rng(1);
    const KMeansClusters found = KMeans({1, same, weights}, k, rng);
    const std::set<std::uint32_t> ids(found.cluster_of.begin(), found.cluster_of.end());
    CHECK(ids.size() == k);
    CHECK(*ids.rbegin() == k - 1);
    CHECK(found.inertia == 0.0);
  }
}

TEST_CASE("the same seed gives the same clusters") {
  std::vector<double> values;
  Rng random(4);
  for (int i = 0; i < 100; ++i) values.push_back(random.Uniform());
  const std::vector<std::uint64_t> weights(100, 1);
  Rng a(7), b(7);
  CHECK(KMeans({1, values, weights}, 9, a).cluster_of ==
        KMeans({1, values, weights}, 9, b).cluster_of);
}

}  // namespace
}  // namespace stemtap::research
