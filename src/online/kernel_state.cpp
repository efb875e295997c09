// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_state.h"

namespace stemtap::online {

void KernelState::Observe(std::span<const Observation> batch,
                          std::span<const std::uint32_t> order) {
  // The launches of one kernel are scattered over the batch, two cache lines each. Prefetch this
  // many launches ahead.
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
    const bool captured = (seen.record.flags & shm::kFlagCaptured) != 0;
    sketch_.Count(seen.record);
    if (sketch_.IsPerturbed(seen.record)) {
      if (captured) {
        Capture launch = sketch_.AddCaptured(seen);
        launch.place.position = sketch_.launches();
        captures_.Observe(launch);
      } else {
        sketch_.AddConcurrent(seen);
      }
      continue;
    }
    if (captured) {
      Capture launch{{seen.index, seen.occurrence, seen.record, 0.0, false},
                     seen.record.duration_ns,
                     0,
                     stats::LogSketch::BinOf(seen.record.duration_ns),
                     {}};
      launch.place = PlaceOf(launch.bin);
      captures_.Observe(launch);
      if (launch.explored()) {
        contexts_.Observe(seen.history_key, seen.config_key, launch.bin, cluster_of);
        continue;
      }
    }
    const std::uint32_t bin = sketch_.AddNative(seen);
    // If captures perturb launches, the bin is of the mean of a context, which hardly changes.
    if (!sketch_.imputes()) {
      correlation_.Add(bin, cluster_of, [this](std::size_t cluster) {
        return cluster < mean_bins_.size() ? mean_bins_[cluster] : 0;
      });
    }
    predictions_.Add(
        bin, contexts_.Observe(seen.history_key, seen.config_key, bin, cluster_of, seen.node_key));
  }
  last_occurrence_ = batch[order.back()].occurrence;
  periods_.AddLaunches(batch[order.front()].index, batch[order.back()].index);
  periods_.Watch(sketch_);
}

LaunchPlace KernelState::PlaceOf(std::uint32_t bin) const {
  LaunchPlace place = {sketch_.launches() + 1, 0, stats::LogSketch::kEndBin, 0};
  if (!clusters().empty()) {
    const std::size_t cluster = ClusterOf(bin);
    if (cluster > 0) place.first_bin = clusters()[cluster].first_bin;
    if (cluster + 1 < clusters().size()) place.end_bin = clusters()[cluster + 1].first_bin;
  }
  place.in_cluster = sketch_.durations().CountIn(place.first_bin, place.end_bin) + 1;
  return place;
}

std::size_t KernelState::AddCaptured(const Capture& captured) {
  Capture launch = captured;
  if (sketch_.imputes() && !sketch_.stale()) sketch_.Impute(launch, false);
  const std::size_t cluster = ClusterOf(launch.bin);
  captures_.Add(launch);
  const std::size_t periods = periods_.size();
  periods_.AddCapture(launch);
  if (periods_.size() == periods) {
    clusters()[cluster].AddCapture(periods_.PeriodOf(launch.place.position), launch.place.position);
  } else {  // the capture ended the first period, so everything is counted by period again
    for (Cluster& counted : clusters()) {
      counted.captured = 0;
      counted.explored = {};
    }
    periods_.CountIn(clusters_);
    captures_.CountIn(clusters_, periods_, correlations());
  }
  return cluster;
}

void KernelState::SetCut(std::span<const std::size_t> first_cells, bool anew) {
  clusters_.SetCut(sketch_.cells(), first_cells, anew);
  if (anew) correlation_.Fade();
  mean_bins_.clear();
  for (const Cluster& cluster : clusters()) {
    mean_bins_.push_back(
        stats::LogSketch::BinOf(static_cast<std::uint64_t>(cluster.moments.mean())));
  }
  periods_.CountIn(clusters_);
  captures_.CountIn(clusters_, periods_, correlations());
  if (clusters_.SetSources(sketch_.cells(), predictions_) || anew) RequestPublication();
}

void KernelCaptures::Impute(const KernelSketch& sketch) {
  if (!sketch.imputes()) return;
  explored_ns_ = 0;
  for (Capture& launch : by_credit_) sketch.Impute(launch, false);
  for (Capture& launch : explored_) {
    sketch.Impute(launch, true);
    explored_ns_ += launch.sample.record.duration_ns;
  }
}

void KernelCaptures::CountIn(KernelClusters& clusters, const KernelPeriods& periods,
                             const stats::Correlations& correlations) const {
  std::vector<std::vector<std::uint64_t>> positions(clusters.list().size());
  for (const Capture& launch : explored_) {
    clusters.list()[clusters.ClusterOf(launch.bin)].explored.Add(
        static_cast<double>(launch.sample.record.duration_ns));
  }
  for (const Capture& launch : by_credit_) {
    const std::uint64_t position = launch.place.position;
    const std::size_t cluster = clusters.ClusterOf(launch.bin);
    const std::size_t period = periods.PeriodOf(position);
    double repeats = 0.0;
    std::vector<std::uint64_t>& before = positions[cluster];
    for (auto p = before.rbegin(); p != before.rend(); ++p) {
      if (position - *p > stats::Correlations::kLongest || periods.PeriodOf(*p) != period) {
        break;
      }
      repeats += correlations.At(position - *p);
    }
    before.push_back(position);
    clusters.list()[cluster].AddCapture(period, position, repeats);
  }
}

}  // namespace stemtap::online
