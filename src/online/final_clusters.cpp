// SPDX-License-Identifier: Apache-2.0
#include "online/final_clusters.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "stats/log_sketch.h"

namespace stemtap {
namespace {

// Adds the launch of `sample`, which the sketch does not hold, to the launches of `cluster` and to
// its samples.
void AddLaunch(const PlanSample& sample, SampledCluster& cluster) {
  const std::uint64_t duration = sample.record.duration_ns;
  if (cluster.moments.count() == 0) cluster.lower_ns = cluster.upper_ns = duration;
  cluster.lower_ns = std::min(cluster.lower_ns, duration);
  cluster.upper_ns = std::max(cluster.upper_ns, duration);
  Moments cell;
  cell.Add(static_cast<double>(duration));
  cluster.moments.Merge(cell);
  const auto above = std::find_if(cluster.cells.begin(), cluster.cells.end(),
                                  [&](const Moments& c) { return c.mean() > cell.mean(); });
  cluster.cells.insert(above, cell);
  cluster.samples.push_back(sample);
}

}  // namespace

std::vector<SampledCluster> FinalClusters(KernelState& kernel,
                                          std::span<const std::size_t> joined) {
  const std::vector<OnlineCluster>& cut = kernel.clusters();
  const std::vector<std::size_t> first_cells = kernel.CurrentFirstCells();
  std::vector<SampledCluster> clusters;
  std::vector<std::size_t> place(cut.size(), 0);
  for (std::size_t i = 0; i < cut.size(); ++i) {
    if (i == 0 || joined[i] != joined[i - 1]) {
      clusters.emplace_back();
      clusters.back().lower_ns = LogSketch::LowerEdge(cut[i].first_bin);
    }
    SampledCluster& cluster = clusters.back();
    cluster.upper_ns = LogSketch::LowerEdge(cut[i].end_bin) - 1;
    cluster.moments.Merge(cut[i].moments);
    cluster.target += cut[i].target;
    const std::size_t end = i + 1 < cut.size() ? first_cells[i + 1] : kernel.cells().size();
    cluster.cells.insert(cluster.cells.end(),
                         kernel.cells().begin() + static_cast<std::ptrdiff_t>(first_cells[i]),
                         kernel.cells().begin() + static_cast<std::ptrdiff_t>(end));
    place[i] = clusters.size() - 1;
  }

  const auto home = [&](const CapturedLaunch& launch) {
    return place[kernel.ClusterOf(launch.bin)];
  };
  std::vector<std::vector<PlanSample>> outlived(clusters.size());
  for (const Capture& capture : kernel.captures()) {
    const PlanSample& sample = capture.launch.sample;
    const std::size_t at = home(capture.launch);
    (capture.outlived ? outlived[at] : clusters[at].samples).push_back(sample);
  }
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (clusters[i].samples.empty()) clusters[i].samples = std::move(outlived[i]);
  }
  std::vector<bool> covered;
  for (const SampledCluster& cluster : clusters) covered.push_back(!cluster.samples.empty());
  SampledCluster set_aside;
  for (const CapturedLaunch& launch : kernel.explored()) {
    const PlanSample& sample = launch.sample;
    const bool stands = !clusters.empty() && !covered[home(launch)];
    AddLaunch(sample, stands ? clusters[home(launch)] : set_aside);
  }
  if (!set_aside.samples.empty()) {
    set_aside.target = set_aside.samples.size();
    clusters.push_back(std::move(set_aside));
  }
  for (SampledCluster& cluster : clusters) {
    std::sort(cluster.samples.begin(), cluster.samples.end(),
              [](const PlanSample& a, const PlanSample& b) { return a.index < b.index; });
  }
  return clusters;
}

}  // namespace stemtap
