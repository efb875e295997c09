// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/complete_linkage.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace stemtap::research {
namespace {

using Clusters = std::vector<std::uint32_t>;

double Distance(const std::vector<double>& values, std::size_t columns, std::size_t a,
                std::size_t b) {
  double sum = 0.0;
  for (std::size_t c = 0; c < columns; ++c) {
    sum += std::pow(values[a * columns + c] - values[b * columns + c], 2);
  }
  return std::sqrt(sum);
}

// Follows the definition step by step: merges the two clusters with the smallest distance between
// their farthest members.
Clusters ByDefinition(const std::vector<double>& values, std::size_t columns, double threshold) {
  std::vector<std::vector<std::size_t>> clusters;
  for (std::size_t i = 0; i < values.size() / columns; ++i) clusters.push_back({i});
  while (true) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t x = 0, y = 0;
    for (std::size_t a = 0; a < clusters.size(); ++a) {
      for (std::size_t b = a + 1; b < clusters.size(); ++b) {
        double farthest = 0.0;
        for (const std::size_t i : clusters[a]) {
          for (const std::size_t j : clusters[b]) {
            farthest = std::max(farthest, Distance(values, columns, i, j));
          }
        }
        if (farthest < least) least = farthest, x = a, y = b;
      }
    }
    if (least > threshold) break;
    clusters[x].insert(clusters[x].end(), clusters[y].begin(), clusters[y].end());
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(y));
  }
  std::vector<std::size_t> first(values.size() / columns);
  for (auto& c : clusters) {
    std::sort(c.begin(), c.end());
    for (const std::size_t i : c) first[i] = c.front();
  }
  Clusters result(first.size());
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    result[i] = first[i] == i ? next++ : result[first[i]];
  }
  return result;
}

TEST_CASE("worked example: clusters of 0, 1, 2.2, 3 and 10 at a threshold of 2") {
  // 2.2 and 3 merge first (0.8), then 0 and 1 (1.0). The farthest members of the two clusters are 3
  // apart, so the clusters stay separate.
  const std::vector<double> values = {0, 1, 2.2, 3, 10};
  CHECK(*CompleteLinkage(values, 1, 2.0) == Clusters{0, 0, 1, 1, 2});
  CHECK(*CompleteLinkage(values, 1, 3.0) == Clusters{0, 0, 0, 0, 1});
  CHECK(*CompleteLinkage(values, 1, 10.0) == Clusters{0, 0, 0, 0, 0});
  CHECK(*CompleteLinkage(values, 1, 0.0) == Clusters{0, 1, 2, 3, 4});
}

TEST_CASE("clusters of random points match the definition") {
  // Distances of random doubles are all different, so the result is unique.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const std::size_t columns = 1 + rng.Below(4);
    const std::size_t n = 1 + rng.Below(40);
    std::vector<double> values;
    for (std::size_t i = 0; i < n * columns; ++i) values.push_back(rng.Uniform());
    for (const double threshold : {0.02, 0.1, 0.3, 0.8, 3.0}) {
      CHECK(*CompleteLinkage(values, columns, threshold) ==
            ByDefinition(values, columns, threshold));
    }
  }
}

TEST_CASE("no points, one point and equal points are valid") {
  CHECK(CompleteLinkage({}, 2, 1.0)->empty());
  const std::vector<double> one = {5, 5};
  CHECK(*CompleteLinkage(one, 2, 0.0) == Clusters{0});
  const std::vector<double> same(8, 5.0);
  CHECK(*CompleteLinkage(same, 2, 0.0) == Clusters{0, 0, 0, 0});
}

TEST_CASE("the limit counts only the points that remain together") {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i < 50 ? 0.001 * i : 1'000.0 + 0.001 * i);
  CHECK(CompleteLinkage(values, 1, 0.1, 50).has_value());
  CHECK(!CompleteLinkage(values, 1, 0.1, 49).has_value());
  // A hundred thousand points that are separated by gaps require no distance computations.
  values.clear();
  for (int i = 0; i < 100'000; ++i) values.push_back(i);
  CHECK(CompleteLinkage(values, 1, 0.1)->back() == 99'999);
}

}  // namespace
}  // namespace stemtap::research
