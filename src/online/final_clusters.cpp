// SPDX-License-Identifier: Apache-2.0
#include "online/final_clusters.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "stats/log_sketch.h"

namespace stemtap::online {
namespace {

// Adds the launch of `sample`, which is not in the sketch, to `cluster` and its samples. The cells
// are not sorted yet.
void AddLaunch(const model::PlanSample& sample, sampling::SampledCluster& cluster) {
  const std::uint64_t duration = sample.record.duration_ns;
  if (cluster.moments.count() == 0) cluster.lower_ns = cluster.upper_ns = duration;
  cluster.lower_ns = std::min(cluster.lower_ns, duration);
  cluster.upper_ns = std::max(cluster.upper_ns, duration);
  stats::Moments cell;
  cell.Add(static_cast<double>(duration));
  cluster.moments.Merge(cell);
  cluster.cells.push_back(cell);
  cluster.samples.push_back(sample);
}

}  // namespace

std::vector<sampling::SampledCluster> FinalClusters(const KernelState& kernel,
                                                    std::span<const JointStratum> joined) {
  const std::vector<OnlineCluster>& cut = kernel.clusters();
  const std::vector<std::size_t> first_cells = kernel.CurrentFirstCells();
  std::vector<sampling::SampledCluster> clusters;
  std::vector<std::size_t> place(cut.size(), 0);
  for (const JointStratum& joint : joined) {
    sampling::SampledCluster& cluster = clusters.emplace_back();
    cluster.lower_ns = stats::LogSketch::LowerEdge(cut[joint.first].first_bin);
    cluster.upper_ns = stats::LogSketch::LowerEdge(cut[joint.end - 1].end_bin) - 1;
    cluster.moments = joint.all;
    cluster.joined_launches = joint.all.count();
    if (!joint.by_explored) cluster.joined_launches -= joint.sampled.count();
    for (std::size_t i = joint.first; i < joint.end; ++i) {
      cluster.target += cut[i].target;
      place[i] = clusters.size() - 1;
    }
    if (joint.by_explored) continue;  // the cells contain only the captures
    const std::size_t first = first_cells[joint.home];
    const std::size_t end =
        joint.home + 1 < cut.size() ? first_cells[joint.home + 1] : kernel.cells().size();
    cluster.cells.assign(kernel.cells().begin() + static_cast<std::ptrdiff_t>(first),
                         kernel.cells().begin() + static_cast<std::ptrdiff_t>(end));
  }

  const auto home = [&](const CapturedLaunch& launch) {
    return place[kernel.ClusterOf(launch.bin)];
  };
  std::vector<std::vector<model::PlanSample>> expired(clusters.size());
  for (const Capture& capture : kernel.captures().by_credit()) {
    const model::PlanSample& sample = capture.launch.sample;
    const std::size_t at = home(capture.launch);
    (capture.expired ? expired[at] : clusters[at].samples).push_back(sample);
  }
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (clusters[i].samples.empty()) clusters[i].samples = std::move(expired[i]);
  }
  sampling::SampledCluster set_aside;
  for (const CapturedLaunch& launch : kernel.captures().explored()) {
    const model::PlanSample& sample = launch.sample;
    const bool represents = !joined.empty() && joined[home(launch)].by_explored;
    AddLaunch(sample, represents ? clusters[home(launch)] : set_aside);
  }
  if (!set_aside.samples.empty()) {
    set_aside.target = set_aside.samples.size();
    clusters.push_back(std::move(set_aside));
  }
  for (sampling::SampledCluster& cluster : clusters) {
    // Cells from the sketch are sorted already.
    std::stable_sort(
        cluster.cells.begin(), cluster.cells.end(),
        [](const stats::Moments& a, const stats::Moments& b) { return a.mean() < b.mean(); });
    std::sort(
        cluster.samples.begin(), cluster.samples.end(),
        [](const model::PlanSample& a, const model::PlanSample& b) { return a.index < b.index; });
  }
  return clusters;
}

}  // namespace stemtap::online
