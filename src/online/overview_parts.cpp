// SPDX-License-Identifier: Apache-2.0
#include "online/overview_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "online/online_sampler.h"

namespace stemtap::online {

namespace {

// Returns the smallest duration above bin `bin`; for the last bin, the largest possible duration.
std::uint64_t UpperEdge(std::uint32_t bin) {
  const std::uint64_t edge = stats::LogSketch::LowerEdge(bin + 1);
  return edge > stats::LogSketch::LowerEdge(bin) ? edge : std::numeric_limits<std::uint64_t>::max();
}

bool Closed(const model::PlanCluster& cluster) {
  return cluster.captured >= std::max<std::uint64_t>(cluster.target, 1);
}

model::ClusterState StateOf(const model::PlanCluster& cluster,
                            const model::OverviewKernel& online) {
  if (Closed(cluster)) return model::ClusterState::kClosed;
  const auto same = std::find_if(
      online.clusters.begin(), online.clusters.end(),
      [&](const model::OverviewCluster& before) { return before.lower_ns == cluster.lower_ns; });
  const bool reachable =
      same == online.clusters.end() || same->state != model::ClusterState::kUnreachable;
  return cluster.captured != 0 || reachable ? model::ClusterState::kOpen
                                            : model::ClusterState::kUnreachable;
}

}  // namespace

std::vector<model::HistogramBin> JoinedBins(const stats::LogSketch& sketch, std::size_t max_bins) {
  const std::span<const stats::LogSketch::Bin> bins = sketch.bins();
  std::vector<model::HistogramBin> joined;
  // Merge 2^by bins into one. Merging 64 gives the octaves, which always fit.
  bool fit = false;
  for (std::uint32_t by = 0; by <= stats::LogSketch::kPartBits && !fit; ++by) {
    joined.clear();
    fit = true;
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < bins.size() && fit; ++i) {
      if (bins[i].count == 0) continue;
      const std::uint32_t bin = (sketch.first_bin() + static_cast<std::uint32_t>(i)) >> by;
      if (joined.empty() || bin != last) {
        joined.push_back(
            {stats::LogSketch::LowerEdge(bin << by), UpperEdge(((bin + 1) << by) - 1), 0});
        fit = joined.size() <= max_bins;
        last = bin;
      }
      joined.back().count += bins[i].count;
    }
  }
  return joined;
}

void SetSlices(std::span<const stats::TimeSlices* const> slices, model::Overview& overview) {
  const stats::TimeSlices* busiest = nullptr;
  for (const stats::TimeSlices* of : slices) {
    if (of == nullptr || of->slices().empty()) continue;
    if (busiest == nullptr || of->launches() > busiest->launches()) busiest = of;
  }
  overview.slices_start_ns = overview.slices_width_ns = overview.slices = 0;
  if (busiest == nullptr) return;

  // Find the smallest width that is not below the width of any kernel's slices and at which all
  // kernels fit into kMaxSlices.
  const auto low_of = [](const stats::TimeSlices& of) { return of.first() << of.shift(); };
  const auto high_of = [](const stats::TimeSlices& of) {  // start of the last slice
    return (of.first() + of.slices().size() - 1) << of.shift();
  };
  std::uint64_t low = low_of(*busiest);
  std::uint64_t high = high_of(*busiest);
  std::uint32_t shift = busiest->shift();
  std::vector<bool> shown(slices.size(), false);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i] == nullptr || slices[i]->slices().empty()) continue;
    const std::uint64_t lower = std::min(low, low_of(*slices[i]));
    const std::uint64_t higher = std::max(high, high_of(*slices[i]));
    const std::uint32_t wide =
        stats::TimeSlices::ShiftFor(std::max(shift, slices[i]->shift()), lower, higher);
    if (wide > stats::TimeSlices::kMaxShift) continue;
    low = lower;
    high = higher;
    shift = wide;
    shown[i] = true;
  }
  const std::uint64_t first = low >> shift;
  overview.slices_start_ns = first << shift;
  overview.slices_width_ns = std::uint64_t{1} << shift;
  overview.slices = static_cast<std::uint32_t>((high >> shift) - first + 1);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!shown[i]) continue;
    std::array<stats::TimeSlices::Slice, stats::TimeSlices::kMaxSlices> sums{};
    slices[i]->AddTo(shift, first, sums);
    for (std::uint32_t at = 0; at < overview.slices; ++at) {
      if (sums[at].launches == 0) continue;
      overview.kernels[i].slices.push_back({at, sums[at].launches, sums[at].duration_ns});
    }
  }
}

void TakeClusters(const model::Plan& plan, model::Overview& overview) {
  std::unordered_map<model::KernelId, const model::PlanKernel*, model::KernelIdHash> planned;
  overview.clusters_open = overview.clusters_closed = 0;
  for (const model::PlanKernel& kernel : plan.kernels) {
    planned[kernel] = &kernel;
    for (const model::PlanCluster& cluster : kernel.clusters) {
      ++(Closed(cluster) ? overview.clusters_closed : overview.clusters_open);
    }
  }
  for (model::OverviewKernel& kernel : overview.kernels) {
    std::vector<model::OverviewCluster> clusters;
    const auto found = planned.find(kernel);
    if (found != planned.end()) {
      for (const model::PlanCluster& c : found->second->clusters) {
        clusters.push_back({c.lower_ns, c.upper_ns, c.count, c.mean_ns, c.stddev_ns, c.captured,
                            c.target, StateOf(c, kernel)});
      }
    }
    kernel.clusters = std::move(clusters);
  }
  model::TakeBounds(plan.totals, overview);
}

namespace {

model::ClusterState StateOf(const Cluster& cluster) {
  if (cluster.request.closed) return model::ClusterState::kClosed;
  return cluster.decision.unreachable ? model::ClusterState::kUnreachable
                                      : model::ClusterState::kOpen;
}

std::vector<model::OverviewCluster> ClustersOf(const KernelState& kernel) {
  std::vector<model::OverviewCluster> clusters;
  if (!kernel.allocated()) return clusters;
  for (const Cluster& c : kernel.clusters()) {
    clusters.push_back({stats::LogSketch::LowerEdge(c.first_bin),
                        stats::LogSketch::LowerEdge(c.end_bin) - 1, c.moments.count(),
                        c.moments.mean(), c.moments.stddev(), c.captured, c.decision.target,
                        StateOf(c)});
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
    for (const Cluster& cluster : kernel.clusters()) {
      ++(cluster.request.closed ? overview.clusters_closed : overview.clusters_open);
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
    static_cast<model::KernelId&>(shown) = IdOf(*kernel);
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
