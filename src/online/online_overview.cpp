// SPDX-License-Identifier: Apache-2.0
// OnlineSampler::Describe, which reports the sampler's state as an overview.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "online/online_sampler.h"
#include "online/overview_parts.h"

namespace stemtap::online {
namespace {

model::ClusterState StateOf(const OnlineCluster& cluster) {
  if (cluster.closed) return model::ClusterState::kClosed;
  return cluster.unreachable ? model::ClusterState::kUnreachable : model::ClusterState::kOpen;
}

std::vector<model::OverviewCluster> ClustersOf(const KernelState& kernel) {
  std::vector<model::OverviewCluster> clusters;
  if (!kernel.allocated()) return clusters;
  for (const OnlineCluster& c : kernel.clusters()) {
    clusters.push_back({stats::LogSketch::LowerEdge(c.first_bin),
                        stats::LogSketch::LowerEdge(c.end_bin) - 1, c.moments.count(),
                        c.moments.mean(), c.moments.stddev(), c.captured, c.target, StateOf(c)});
  }
  return clusters;
}

}  // namespace

void OnlineSampler::Describe(model::Overview& overview) const {
  overview.observed = status_.observed;
  overview.duration_ns = status_.duration_ns;
  overview.captured = status_.captured;
  overview.captured_duration_ns = status_.captured_duration_ns;
  overview.bound = status_.observed == 0 ? NAN : status_.bound;
  overview.slowed = status_.perturbed;
  overview.zero_duration = status_.zero_duration;

  struct Ranked {
    std::uint64_t duration_ns;
    const KernelState* kernel;
  };
  std::vector<Ranked> ranking;
  overview.clusters_open = overview.clusters_closed = 0;
  for (const KernelState& kernel : kernels_) {
    if (kernel.launches() == 0) continue;
    ranking.push_back({kernel.duration_ns(), &kernel});
    if (!kernel.allocated()) continue;
    for (const OnlineCluster& cluster : kernel.clusters()) {
      ++(cluster.closed ? overview.clusters_closed : overview.clusters_open);
    }
  }
  overview.kernels_known = ranking.size();
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const Ranked& a, const Ranked& b) { return a.duration_ns > b.duration_ns; });
  ranking.resize(std::min(ranking.size(), model::Overview::kMaxKernels));

  overview.kernels.clear();
  overview.kernels.reserve(ranking.size());
  std::vector<const stats::TimeSlices*> slices;
  for (const auto& [duration_ns, kernel] : ranking) {
    model::OverviewKernel& shown = overview.kernels.emplace_back();
    shown.name = names_.name(kernel->name_id());
    shown.process = names_.process(kernel->name_id());
    shown.config = kernel->config();
    shown.launched_config = kernel->sketch().config();
    shown.invocations = kernel->launches();
    shown.duration_ns = duration_ns;
    shown.captured = kernel->captures().by_credit().size() + kernel->captures().explored().size();
    shown.imputed = kernel->imputed();
    shown.clusters = ClustersOf(*kernel);
    shown.histogram = JoinedBins(kernel->sketch().durations());
    if (slices.size() < model::Overview::kMaxSlicedKernels)
      slices.push_back(&kernel->sketch().slices());
  }
  SetSlices(slices, overview);
}

}  // namespace stemtap::online
