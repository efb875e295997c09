// SPDX-License-Identifier: Apache-2.0
//
// CompleteLinkage is agglomerative hierarchical clustering, cut at a distance: starting from single
// points, the two clusters whose farthest members are nearest are merged, as long as these are at
// most the threshold apart. So no two members of a cluster are farther apart than that.
//
// Points that a gap wider than the threshold separates, along any column, never share a cluster:
// they are divided there first, and only what remains together needs all its distances, 8 bytes a
// pair.
//
// SOURCE: Murtagh, A survey of recent advances in hierarchical clustering (1983), nearest-neighbor
// chains; docs/math/baselines.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stemtap {

// The most points that may remain together: their distances take 268 MB, and time grows with the
// square. Fewer would refuse profiles whose counters are noisy; more would not fit beside the
// profile.
inline constexpr std::size_t kMostLinkedPoints = 8192;

// By point of the row-major `values`, its cluster, numbered from 0 by first member. None when more
// than `most` points remain together. REQUIRES: columns >= 1, values are finite, threshold >= 0.
std::optional<std::vector<std::uint32_t>> CompleteLinkage(std::span<const double> values,
                                                          std::size_t columns, double threshold,
                                                          std::size_t most = kMostLinkedPoints);

}  // namespace stemtap
