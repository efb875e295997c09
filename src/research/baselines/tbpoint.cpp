// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/tbpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/kernel_groups.h"
#include "research/baselines/complete_linkage.h"
#include "research/baselines/distinct_rows.h"
#include "research/baselines/invocation_groups.h"
#include "research/baselines/metrics.h"
#include "research/baselines/representatives.h"

namespace stemtap::research {
namespace {

// Returns the feature columns, by launch of the profile.
Result<std::vector<std::vector<double>>> Features(const MethodInput& input) {
  std::vector<Metric> metrics = {Metric::kThreadInstructions, Metric::kInstructions,
                                 Metric::kGlobalLoadSectors, Metric::kGlobalStoreSectors,
                                 Metric::kLocalLoadSectors};
  if (HasMetric(input.profile, Metric::kBlockVariation)) {
    metrics.push_back(Metric::kBlockVariation);
  }
  const auto loaded = LoadMetrics(input, "tbpoint", metrics);
  if (!loaded) return loaded.error();
  const auto& columns = loaded.value().columns;
  std::vector<std::vector<double>> features;
  features.emplace_back(columns[0].begin(), columns[0].end());
  features.emplace_back(columns[1].begin(), columns[1].end());
  std::vector<double>& requests = features.emplace_back(columns[2].begin(), columns[2].end());
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i] += columns[3][i] + columns[4][i];
  if (columns.size() > 5) features.emplace_back(columns[5].begin(), columns[5].end());
  return features;
}

// Divides each column by its average over the launches; a column of zeros stays unchanged.
std::vector<double> Normalized(const DistinctRows& rows) {
  std::vector<double> values = rows.values;
  for (std::size_t c = 0; c < rows.columns; ++c) {
    double sum = 0.0;
    double launches = 0.0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      sum += static_cast<double>(rows.counts[r]) * rows.row(r)[c];
      launches += static_cast<double>(rows.counts[r]);
    }
    if (sum <= 0.0) continue;
    for (std::size_t r = 0; r < rows.size(); ++r) values[r * rows.columns + c] *= launches / sum;
  }
  return values;
}

// Returns the first launch of the row nearest to the center of each cluster, weighted by cluster
// size.
std::vector<WeightedInvocation> NearestToCenters(const DistinctRows& rows,
                                                 const std::vector<double>& values,
                                                 const std::vector<std::uint32_t>& cluster_of) {
  const std::size_t columns = rows.columns;
  const std::size_t clusters = 1 + *std::max_element(cluster_of.begin(), cluster_of.end());
  std::vector<WeightedInvocation> nearest(clusters);
  std::vector<double> centers(clusters * columns, 0.0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto count = static_cast<double>(rows.counts[r]);
    nearest[cluster_of[r]].weight += count;
    for (std::size_t c = 0; c < columns; ++c) {
      centers[cluster_of[r] * columns + c] += count * values[r * columns + c];
    }
  }
  std::vector<double> least(clusters, std::numeric_limits<double>::infinity());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::uint32_t k = cluster_of[r];
    double distance = 0.0;
    for (std::size_t c = 0; c < columns; ++c) {
      const double center = centers[k * columns + c] / nearest[k].weight;
      distance += std::pow(values[r * columns + c] - center, 2);
    }
    // Rows are in order of first launch, so the earliest launch wins ties.
    if (distance < least[k]) {
      least[k] = distance;
      nearest[k].index = rows.first[r];
    }
  }
  return nearest;
}

}  // namespace

Result<std::unique_ptr<PreparedMethod>> PrepareTbpoint(const MethodInput& input) {
  const auto features = Features(input);
  if (!features) return features.error();
  const std::vector<std::span<const double>> columns(features.value().begin(),
                                                     features.value().end());
  InvocationGroups kernels = GroupInvocations(input.groups);
  std::vector<std::uint32_t> cluster_of(input.groups.size(), model::kExcludedKernel);
  std::vector<WeightedInvocation> representatives;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::span<const std::uint64_t> launches = kernels.group(k);
    if (launches.empty()) continue;
    const DistinctRows rows = FindDistinctRows(launches, columns);
    const std::vector<double> values = Normalized(rows);
    const auto clusters = CompleteLinkage(values, rows.columns, kTbpointDistance);
    if (!clusters) {
      const shm::KernelRecord& r = input.profile.records[launches.front()];
      return Error{
          fmt::format("tbpoint: more than {} different launches of '{}' are close together; "
                      "expected fewer, because all their distances are in memory",
                      kMaxLinkedPoints, EscapeForTerminal(input.profile.names.name(r.name_id)))};
    }
    const auto first = static_cast<std::uint32_t>(representatives.size());
    for (std::size_t i = 0; i < launches.size(); ++i) {
      cluster_of[launches[i]] = first + (*clusters)[rows.row_of[i]];
    }
    const auto nearest = NearestToCenters(rows, values, *clusters);
    representatives.insert(representatives.end(), nearest.begin(), nearest.end());
  }
  return MakeRepresentativeMethod(std::move(cluster_of), std::move(representatives));
}

}  // namespace stemtap::research
