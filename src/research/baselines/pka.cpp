// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/pka.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/kernel_groups.h"
#include "research/baselines/distinct_rows.h"
#include "research/baselines/k_means.h"
#include "research/baselines/metrics.h"
#include "research/baselines/principal_components.h"
#include "research/baselines/representatives.h"

namespace stemtap::research {
namespace {

// Table 2 of the paper, as far as counters contain it.
constexpr Metric kMetrics[] = {
    Metric::kGlobalLoadSectors, Metric::kGlobalStoreSectors,   Metric::kLocalLoadSectors,
    Metric::kGlobalLoads,       Metric::kGlobalStores,         Metric::kLocalLoads,
    Metric::kSharedLoads,       Metric::kSharedStores,         Metric::kGlobalAtomics,
    Metric::kInstructions,      Metric::kDivergenceEfficiency, Metric::kBlocks,
};

struct Clustering {
  std::vector<std::uint32_t> cluster_of;            // by distinct row
  std::vector<WeightedInvocation> representatives;  // by cluster
  double error = 0.0;                               // of the projected total, ns
};

Clustering Project(const model::Profile& profile, const DistinctRows& rows, std::size_t k,
                   std::vector<std::uint32_t> cluster_of, double total) {
  Clustering result;
  result.representatives.assign(k, {std::numeric_limits<std::uint64_t>::max(), 0.0});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    WeightedInvocation& of = result.representatives[cluster_of[r]];
    of.index = std::min(of.index, rows.first[r]);
    of.weight += static_cast<double>(rows.counts[r]);
  }
  double projected = 0.0;
  for (const WeightedInvocation& r : result.representatives) {
    projected += r.weight * static_cast<double>(profile.records[r.index].duration_ns);
  }
  result.cluster_of = std::move(cluster_of);
  result.error = std::abs(projected - total);
  return result;
}

}  // namespace

Result<std::unique_ptr<PreparedMethod>> PreparePka(const MethodInput& input) {
  auto metrics = LoadMetrics(input, "pka", kMetrics);
  if (!metrics) return metrics.error();

  std::vector<std::uint64_t> invocations;
  double total = 0.0;
  for (std::size_t i = 0; i < input.groups.size(); ++i) {
    if (input.groups[i] == model::kExcludedKernel) continue;
    invocations.push_back(i);
    total += static_cast<double>(input.profile.records[i].duration_ns);
  }
  std::vector<std::uint32_t> cluster_of(input.groups.size(), model::kExcludedKernel);
  if (invocations.empty()) return MakeRepresentativeMethod(std::move(cluster_of), {});

  const DistinctRows rows = FindDistinctRows(invocations, metrics.value().columns);
  const Scores scores = PrincipalComponents(rows, kPkaVarianceShare);
  Rng rng(input.options.seed);
  // k = 1 needs no clustering, and without a component all rows are equal.
  Clustering best =
      Project(input.profile, rows, 1, std::vector<std::uint32_t>(rows.size(), 0), total);
  const PointSet points{scores.columns, scores.values, rows.counts};
  const std::size_t max_clusters = scores.columns == 0 ? 1 : std::min(kPkaMaxClusters, rows.size());
  for (std::size_t k = 2; k <= max_clusters; ++k) {
    Clustering found = Project(input.profile, rows, k, KMeans(points, k, rng).cluster_of, total);
    if (found.error < best.error) best = std::move(found);
  }
  for (std::size_t i = 0; i < invocations.size(); ++i) {
    cluster_of[invocations[i]] = best.cluster_of[rows.row_of[i]];
  }
  return MakeRepresentativeMethod(std::move(cluster_of), std::move(best.representatives));
}

}  // namespace stemtap::research
