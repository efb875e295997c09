// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_state.h"

#include <algorithm>

namespace stemtap {

void KernelState::Observe(const Observation& seen) {
  const std::uint64_t duration = seen.record.duration_ns;
  const std::uint32_t bin = LogSketch::BinOf(duration);
  if (seen.record.flags & wire::kFlagCaptured) {
    unsettled_.push_back({seen.index, sketch_.count(), seen.record, 0.0});
  }
  sketch_.Add(duration);
  moments_.Add(static_cast<double>(duration));
  zero_duration_ += duration == 0;
  const auto cluster_of = [this](std::uint32_t b) { return ClusterOf(b); };
  contexts_.Observe(seen.history_key, bin, cluster_of);
  contexts_.Observe(seen.config_key, bin, cluster_of);
  contexts_.Observe(name_key_, bin, cluster_of);
}

void KernelState::AddCaptured(const PlanSample& sample) {
  sketch_.AddCaptured(sample.record.duration_ns);
  samples_.push_back(sample);
}

std::size_t KernelState::ClusterOf(std::uint32_t bin) const {
  // Clusters are few and the common case is one or two: a scan beats a search.
  std::size_t at = 0;
  while (at + 1 < clusters_.size() && bin >= clusters_[at + 1].first_bin) ++at;
  return at;
}

void KernelState::RecutIfDue(Method method, const ErrorTarget& target) {
  if (sketch_.count() < next_cut_ && !clusters_.empty()) return;
  Recut(method, target);
}

void KernelState::Recut(Method method, const ErrorTarget& target) {
  next_cut_ = std::max(kFirstCut, sketch_.count() + sketch_.count() / 2);
  std::vector<Moments> cells;
  std::vector<std::uint32_t> bins;
  for (std::size_t i = 0; i < sketch_.bins().size(); ++i) {
    if (sketch_.bins()[i].count == 0) continue;
    bins.push_back(sketch_.first_bin() + static_cast<std::uint32_t>(i));
    cells.push_back(sketch_.BinMoments(bins.back()));
  }
  const std::vector<StratumRange> strata = Stratify(method, cells, target);
  std::vector<OnlineCluster> before;
  before.swap(clusters_);
  for (const StratumRange& s : strata) {
    OnlineCluster cluster;
    cluster.first_bin = bins[s.first];
    cluster.end_bin = bins[s.end - 1] + 1;
    cluster.own_size = s.sample_size;
    // A cluster that keeps its ordinal keeps its standing until the next allocation.
    if (clusters_.size() < before.size()) {
      cluster.target = before[clusters_.size()].target;
      cluster.closed = before[clusters_.size()].closed;
    }
    clusters_.push_back(cluster);
  }
  recut_ = true;
  Refresh();
}

void KernelState::Refresh() {
  refreshed_at_ = sketch_.count();
  for (OnlineCluster& cluster : clusters_) {
    cluster.moments = Moments();
    cluster.captured = 0;
  }
  for (std::size_t i = 0; i < sketch_.bins().size(); ++i) {
    if (sketch_.bins()[i].count == 0) continue;
    const std::uint32_t bin = sketch_.first_bin() + static_cast<std::uint32_t>(i);
    OnlineCluster& cluster = clusters_[ClusterOf(bin)];
    cluster.moments.Merge(sketch_.BinMoments(bin));
    cluster.captured += sketch_.bins()[i].captured_count;
    // Bins that appeared since the cut widen the cluster they fell to.
    cluster.first_bin = std::min(cluster.first_bin, bin);
    cluster.end_bin = std::max(cluster.end_bin, bin + 1);
  }
}

}  // namespace stemtap
