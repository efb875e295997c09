// SPDX-License-Identifier: Apache-2.0
// What OnlineSampler shows of itself in an overview.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "online/online_sampler.h"
#include "online/overview_parts.h"

namespace stemtap {
namespace {

ClusterState StateOf(const OnlineCluster& cluster) {
  if (cluster.closed) return ClusterState::kClosed;
  return cluster.reachable ? ClusterState::kOpen : ClusterState::kUnreachable;
}

std::vector<OverviewCluster> ClustersOf(const KernelState& kernel) {
  std::vector<OverviewCluster> clusters;
  if (!kernel.allocated()) return clusters;
  for (const OnlineCluster& c : kernel.clusters()) {
    clusters.push_back({LogSketch::LowerEdge(c.first_bin), LogSketch::LowerEdge(c.end_bin) - 1,
                        c.moments.count(), c.moments.mean(), c.moments.stddev(), c.captured,
                        c.target, StateOf(c)});
  }
  return clusters;
}

}  // namespace

void OnlineSampler::Describe(Overview& overview) const {
  overview.observed = status_.observed;
  overview.duration_ns = status_.duration_ns;
  overview.captured = status_.captured;
  overview.captured_duration_ns = status_.captured_duration_ns;
  overview.bound = status_.observed == 0 ? NAN : status_.bound;
  overview.slowed = status_.slowed;
  overview.zero_duration = status_.zero_duration;

  std::vector<const KernelState*> kernels;
  for (const KernelState& kernel : kernels_) {
    if (kernel.launches() != 0) kernels.push_back(&kernel);
  }
  overview.kernels_known = kernels.size();
  std::stable_sort(kernels.begin(), kernels.end(), [](const KernelState* a, const KernelState* b) {
    return a->duration_ns() > b->duration_ns();
  });
  overview.kernels.clear();
  overview.kernels.reserve(kernels.size());
  std::vector<const TimeSlices*> slices;
  for (const KernelState* kernel : kernels) {
    OverviewKernel& shown = overview.kernels.emplace_back();
    shown.name = names_.name(kernel->name_id());
    shown.process = names_.process(kernel->name_id());
    shown.config = kernel->config();
    shown.invocations = kernel->launches();
    shown.duration_ns = kernel->duration_ns();
    shown.captured = kernel->captures().size() + kernel->explored().size();
    shown.imputed = kernel->imputed();
    shown.clusters = ClustersOf(*kernel);
    const std::size_t rank = overview.kernels.size();
    if (rank <= Overview::kMostDrawnKernels) shown.histogram = JoinedBins(kernel->sketch());
    if (rank <= Overview::kMostSlicedKernels) slices.push_back(&kernel->slices());
  }
  SetSlices(slices, overview);
  CountClusters(overview);
}

}  // namespace stemtap
