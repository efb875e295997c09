// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/complete_linkage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace stemtap::research {
namespace {

using Points = std::vector<std::uint32_t>;

struct Table {
  std::span<const double> values;
  std::size_t columns;
  double at(std::uint32_t point, std::size_t column) const {
    return values[point * columns + column];
  }
  double Distance(std::uint32_t a, std::uint32_t b) const {
    double sum = 0.0;
    for (std::size_t c = 0; c < columns; ++c) sum += std::pow(at(a, c) - at(b, c), 2);
    return std::sqrt(sum);
  }
};

// Divides `points` at gaps along one column; returns only `points` if no column has a gap.
std::vector<Points> DivideAtGaps(const Table& table, Points points, double threshold) {
  std::vector<Points> parts;
  for (std::size_t c = 0; c < table.columns; ++c) {
    std::sort(points.begin(), points.end(), [&](std::uint32_t a, std::uint32_t b) {
      const double x = table.at(a, c);
      const double y = table.at(b, c);
      return x != y ? x < y : a < b;
    });
    parts.assign(1, {points.front()});
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (table.at(points[i], c) - table.at(points[i - 1], c) > threshold) parts.emplace_back();
      parts.back().push_back(points[i]);
    }
    if (parts.size() > 1) break;
  }
  return parts;
}

// Distances between clusters, each identified by the position of its first point; only the lower
// triangle is stored.
class Distances {
 public:
  Distances(const Table& table, const Points& points)
      : entries_(points.size() * (points.size() - 1) / 2) {
    for (std::size_t i = 1; i < points.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) at(i, j) = table.Distance(points[i], points[j]);
    }
  }
  double& at(std::size_t i, std::size_t j) {
    return i > j ? entries_[i * (i - 1) / 2 + j] : entries_[j * (j - 1) / 2 + i];
  }

 private:
  std::vector<double> entries_;
};

// Returns the cluster of each of `points`, which have no gaps between them, as the position of a
// member.
std::vector<std::size_t> Link(const Table& table, const Points& points, double threshold) {
  Distances distances(table, points);
  std::vector<std::size_t> merged_into(points.size());
  std::iota(merged_into.begin(), merged_into.end(), std::size_t{0});
  std::vector<std::size_t> open(points.size());  // clusters that may still grow
  std::iota(open.begin(), open.end(), std::size_t{0});
  // Each element is the nearest neighbor of the previous one. Two clusters that are each other's
  // nearest neighbor are merged: with complete linkage, no other merge can change that.
  std::vector<std::size_t> chain;
  while (!open.empty()) {
    if (chain.empty()) chain.push_back(open.front());
    const std::size_t last = chain.back();
    const std::size_t before = chain.size() > 1 ? chain[chain.size() - 2] : last;
    double least =
        before != last ? distances.at(last, before) : std::numeric_limits<double>::infinity();
    std::size_t nearest = before;
    for (const std::size_t other : open) {
      if (other != last && distances.at(last, other) < least) {
        least = distances.at(last, other);
        nearest = other;
      }
    }
    if (least > threshold) {
      // Distances only grow, so this cluster is complete. It is the only one in the chain:
      // otherwise it would be the nearest neighbor of the previous one at the same distance.
      open.erase(std::find(open.begin(), open.end(), last));
      chain.pop_back();
    } else if (nearest == before) {
      chain.resize(chain.size() - 2);
      const auto [keep, gone] = std::minmax(last, before);
      open.erase(std::find(open.begin(), open.end(), gone));
      merged_into[gone] = keep;
      for (const std::size_t other : open) {
        if (other == keep) continue;
        distances.at(keep, other) = std::max(distances.at(keep, other), distances.at(gone, other));
      }
    } else {
      chain.push_back(nearest);
    }
  }
  // A cluster is merged into one of lower position, whose own target is final when it is reached.
  for (std::size_t i = 0; i < merged_into.size(); ++i) {
    merged_into[i] = merged_into[merged_into[i]];
  }
  return merged_into;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> CompleteLinkage(std::span<const double> values,
                                                          std::size_t columns, double threshold,
                                                          std::size_t most) {
  const Table table{values, columns};
  const std::size_t count = values.size() / columns;
  std::vector<std::uint32_t> member_of(count);  // any member of the same cluster
  std::vector<Points> parts;
  if (count > 0) {
    parts.emplace_back(count);
    std::iota(parts.back().begin(), parts.back().end(), std::uint32_t{0});
  }
  while (!parts.empty()) {
    std::vector<Points> smaller = DivideAtGaps(table, std::move(parts.back()), threshold);
    parts.pop_back();
    if (smaller.size() > 1) {
      std::move(smaller.begin(), smaller.end(), std::back_inserter(parts));
      continue;
    }
    Points& together = smaller.front();
    if (together.size() > most) return std::nullopt;
    std::sort(together.begin(), together.end());
    const std::vector<std::size_t> linked = Link(table, together, threshold);
    for (std::size_t i = 0; i < together.size(); ++i) member_of[together[i]] = together[linked[i]];
  }
  // The member is the first one, so clusters appear in order of their first member.
  std::vector<std::uint32_t> cluster_of(count);
  std::uint32_t clusters = 0;
  for (std::size_t i = 0; i < count; ++i) {
    cluster_of[i] = member_of[i] == i ? clusters++ : cluster_of[member_of[i]];
  }
  return cluster_of;
}

}  // namespace stemtap::research
