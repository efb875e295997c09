// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_state.h"

#include <algorithm>

namespace stemtap {

void KernelState::Observe(std::span<const Observation> batch,
                          std::span<const std::uint32_t> order) {
  // One kernel's launches lie scattered over the batch, two cache lines each: asked for this many
  // ahead, they are there when their turn comes.
  constexpr std::size_t kAhead = 6;
  if (order.empty()) return;
  const auto cluster_of = [this](std::uint32_t b) { return ClusterOf(b); };
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + kAhead < order.size()) {
      const auto* next = reinterpret_cast<const char*>(&batch[order[i + kAhead]]);
      __builtin_prefetch(next);
      __builtin_prefetch(next + sizeof(Observation) - 1);
    }
    const Observation& seen = batch[order[i]];
    const std::uint64_t duration = seen.record.duration_ns;
    if (seen.record.flags & wire::kFlagCaptured) {
      unsettled_.push_back({seen.index, sketch_.count(), seen.record, 0.0});
    }
    const std::uint32_t bin = sketch_.Add(duration);
    zero_duration_ += duration == 0;
    contexts_.Observe(seen.history_key, seen.config_key, bin, cluster_of);
  }
}

void KernelState::AddCaptured(const PlanSample& sample) {
  const std::uint64_t duration = sample.record.duration_ns;
  OnlineCluster& cluster = clusters_[ClusterOf(LogSketch::BinOf(duration))];
  if (sample.record.flags & wire::kFlagExploratory) {
    ++cluster.explored;
    explored_.push_back(sample);
  } else {
    ++cluster.captured;
    sketch_.AddCaptured(duration);
    samples_.push_back(sample);
  }
}

void KernelState::Recut(Method method, const ErrorTarget& target) {
  cut_at_ = sketch_.count();
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
    cluster.moments = s.moments;
    for (std::size_t i = s.first; i < s.end; ++i) {
      cluster.captured += sketch_.bins()[bins[i] - sketch_.first_bin()].captured_count;
    }
    cluster.own_size = s.sample_size;
    // A cluster that keeps its ordinal keeps its standing until the next allocation.
    if (clusters_.size() < before.size()) {
      cluster.target = before[clusters_.size()].target;
      cluster.closed = before[clusters_.size()].closed;
    }
    clusters_.push_back(cluster);
  }
  cluster_of_bin_.clear();
  first_cut_bin_ = bins.front();
  for (std::size_t i = 0; i < clusters_.size(); ++i) {
    // Each cluster's bins, and the gap above them up to the next.
    const std::uint32_t end =
        i + 1 < clusters_.size() ? clusters_[i + 1].first_bin : clusters_[i].end_bin;
    cluster_of_bin_.resize(end - first_cut_bin_, static_cast<std::uint16_t>(i));
  }
  recut_ = true;
  for (const PlanSample& sample : explored_) {
    ++clusters_[ClusterOf(LogSketch::BinOf(sample.record.duration_ns))].explored;
  }
}

}  // namespace stemtap
