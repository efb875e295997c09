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

// Returns the number of captures that were wanted of `joint` but not made when the run ended.
std::uint64_t MissingCaptures(const JointStratum& joint, const KernelState& kernel) {
  if (joint.end_period != kernel.periods().size()) return 0;  // none is made of an earlier period
  std::uint64_t missing = 0;
  for (std::size_t c = joint.first; c < joint.end; ++c) {
    const Cluster& cluster = kernel.clusters()[c];
    missing += cluster.decision.target - std::min(cluster.captured, cluster.decision.target);
  }
  return missing;
}

// Returns the sum of duration x launch index over the launches of `joint`.
double IndexTime(const JointStratum& joint, const KernelState& kernel) {
  double sum = 0.0;
  for (std::size_t c = joint.first; c < joint.end; ++c) {
    for (std::size_t p = joint.first_period; p < joint.end_period; ++p) {
      sum += kernel.clusters()[c].periods[p].launches.sum() * kernel.periods().MeanIndex(p);
    }
  }
  return sum;
}

}  // namespace

std::vector<sampling::SampledCluster> FinalClusters(const KernelState& kernel,
                                                    std::span<const JointStratum> joined) {
  const std::vector<Cluster>& cut = kernel.clusters();
  const std::vector<std::size_t> first_cells = kernel.CurrentFirstCells();
  std::vector<sampling::SampledCluster> clusters;
  for (const JointStratum& joint : joined) {
    sampling::SampledCluster& cluster = clusters.emplace_back();
    cluster.lower_ns = stats::LogSketch::LowerEdge(cut[joint.first].first_bin);
    cluster.upper_ns = stats::LogSketch::LowerEdge(cut[joint.end - 1].end_bin) - 1;
    cluster.moments = joint.all;
    cluster.joined_launches = joint.all.count();
    if (!joint.by_explored) {
      cluster.joined_launches -= joint.sampled.count() + joint.other_periods.count();
    }
    cluster.other_periods = joint.other_periods;
    if (joint.by_explored) continue;  // the cells contain only the captures
    const std::size_t first = first_cells[joint.home];
    const std::size_t end =
        joint.home + 1 < cut.size() ? first_cells[joint.home + 1] : kernel.cells().size();
    if (!joint.covered() || kernel.periods().size() == 1) {
      cluster.cells.assign(kernel.cells().begin() + static_cast<std::ptrdiff_t>(first),
                           kernel.cells().begin() + static_cast<std::ptrdiff_t>(end));
    } else {
      const std::uint32_t end_bin =
          joint.home + 1 < cut.size() ? cut[joint.home + 1].first_bin : cut[joint.home].end_bin;
      cluster.cells = kernel.periods().Cells(joint.home_period, kernel.sketch(),
                                             cut[joint.home].first_bin, end_bin);
    }
  }

  // Returns the result that contains a launch of period `period`.
  const auto place_of = [&](const Capture& launch, std::size_t period) {
    const std::size_t c = kernel.ClusterOf(launch.bin);
    std::size_t at = 0;
    while (joined[at].end <= c || joined[at].end_period <= period) ++at;
    return at;
  };
  sampling::SampledCluster set_aside;
  std::vector<stats::Moments> unused(clusters.size());
  std::vector<double> unused_index_time(clusters.size());
  for (const Capture& launch : kernel.captures().by_credit()) {
    const std::size_t period = kernel.periods().PeriodOf(launch.place.position);
    const std::size_t at = place_of(launch, period);
    if (joined[at].home_period == period) {
      clusters[at].samples.push_back(launch.sample);
    } else {  // later captures represent the period
      const auto duration_ns = static_cast<double>(launch.sample.record.duration_ns);
      unused[at].Add(duration_ns);
      unused_index_time[at] += duration_ns * static_cast<double>(launch.sample.index);
      AddLaunch(launch.sample, set_aside);
    }
  }
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    clusters[i].target = clusters[i].samples.size() + MissingCaptures(joined[i], kernel);
    clusters[i].independent = static_cast<std::uint64_t>(std::max(1.0, joined[i].independent));
    clusters[i].moments = stats::Without(clusters[i].moments, unused[i]);
    clusters[i].other_periods = stats::Without(clusters[i].other_periods, unused[i]);
    if (!joined[i].covered() || kernel.periods().size() == 1) continue;
    const double time = clusters[i].moments.sum();
    if (!(time > 0.0)) continue;
    const double last_index = static_cast<double>(kernel.periods().last_index());
    clusters[i].mean_index =
        std::clamp((IndexTime(joined[i], kernel) - unused_index_time[i]) / time, 0.0, last_index);
  }
  for (const Capture& launch : kernel.captures().explored()) {
    const model::PlanSample& sample = launch.sample;
    const std::size_t at = joined.empty() ? 0 : place_of(launch, 0);
    const bool represents = !joined.empty() && joined[at].by_explored;
    AddLaunch(sample, represents ? clusters[at] : set_aside);
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
