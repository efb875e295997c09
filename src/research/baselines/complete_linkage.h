// SPDX-License-Identifier: Apache-2.0
//
// CompleteLinkage is agglomerative hierarchical clustering, cut at a distance. It starts from
// single points and merges the two clusters with the smallest complete-linkage distance (between
// their farthest members) while that distance is at most the threshold. No two members of a cluster
// are farther apart than the threshold.
//
// Points separated by a gap wider than the threshold in any column never share a cluster. The
// points are divided at these gaps first; only the parts need all pairwise distances, 8 bytes per
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

namespace stemtap::research {

// Maximum number of points in one part: their distances take 268 MB, and time grows with the
// square. A smaller limit rejects profiles with noisy counters; with a larger one, the distances
// and the profile do not fit in memory together.
inline constexpr std::size_t kMaxLinkedPoints = 8192;

// Returns the cluster of each point of the row-major `values`, numbered from 0 by first member, or
// nullopt if a part has more than `most` points. REQUIRES: columns >= 1, values are finite,
// threshold >= 0.
std::optional<std::vector<std::uint32_t>> CompleteLinkage(std::span<const double> values,
                                                          std::size_t columns, double threshold,
                                                          std::size_t most = kMaxLinkedPoints);

}  // namespace stemtap::research
