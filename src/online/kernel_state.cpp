// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_state.h"

#include <algorithm>
#include <cmath>

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
    slices_.Add(seen.record.start_ns, seen.record.duration_ns);  // none where that is not known
    if (times_ != nullptr && (seen.record.flags & wire::kFlagPerturbed) != 0) {
      ObservePerturbed(seen);
      continue;
    }
    const std::uint64_t duration = seen.record.duration_ns;
    const bool captured = (seen.record.flags & wire::kFlagCaptured) != 0;
    if (captured) {
      unsettled_.push_back({{seen.index, seen.occurrence, seen.record, 0.0, false},
                            duration,
                            0,
                            LogSketch::BinOf(duration)});
    }
    zero_duration_ += duration == 0;
    if (captured && (seen.record.flags & wire::kFlagExploratory) != 0) {
      explored_.push_back(unsettled_.back());
      explored_ns_ += duration;
      contexts_.Observe(seen.history_key, seen.config_key, LogSketch::BinOf(duration), cluster_of);
      continue;
    }
    std::uint32_t bin = sketch_.Add(duration);
    if (times_ != nullptr) {
      // Its context as a whole is what falls into a cluster.
      const std::uint32_t context = times_->ContextOf(seen.history_key, seen.config_key);
      times_->AddNative(context, duration);
      bin = LogSketch::BinOf(times_->MeanOf(context));
    }
    contexts_.Observe(seen.history_key, seen.config_key, bin, cluster_of, seen.node_key);
  }
  last_occurrence_ = batch[order.back()].occurrence;
}

void KernelState::ObservePerturbed(const Observation& seen) {
  const std::uint64_t recorded = seen.record.duration_ns;
  const std::uint32_t context = times_->ContextOf(seen.history_key, seen.config_key);
  const bool explored = (seen.record.flags & wire::kFlagExploratory) != 0;
  zero_duration_ += recorded == 0;
  if ((seen.record.flags & wire::kFlagCaptured) == 0) return times_->AddBeside(context, recorded);
  CapturedLaunch launch{{seen.index, seen.occurrence, seen.record, 0.0, true},
                        recorded,
                        times_->AddCaptured(context, recorded, !explored)};
  Impute(launch, true);  // until the cells are made anew
  unsettled_.push_back(launch);
  if (!explored) return;
  explored_.push_back(launch);
  explored_ns_ += launch.sample.record.duration_ns;
}

void KernelState::Impute(CapturedLaunch& launch, bool explored) const {
  const std::uint64_t mean = sketch_.count() == 0 ? launch.recorded_ns
                             : explored           ? times_->CapturedMeanOf(launch.captured)
                                                  : times_->GroupMeanOf(launch.captured);
  launch.bin = LogSketch::BinOf(mean);
  const std::uint64_t local = times_->LocalMeanOf(launch.captured);
  launch.sample.record.duration_ns = local != 0 && sketch_.count() != 0 ? local : mean;
}

void KernelState::AddCaptured(const CapturedLaunch& captured) {
  CapturedLaunch launch = captured;
  if (times_ != nullptr && !stale()) Impute(launch, false);
  const std::uint64_t duration = launch.sample.record.duration_ns;
  OnlineCluster& cluster = clusters_[ClusterOf(launch.bin)];
  ++cluster.captured;
  cluster.captured_ns += static_cast<double>(duration);
  captures_.push_back(
      {launch, sketch_.count(), static_cast<double>(sketch_.total_duration()), false});
}

bool KernelState::Outlived(const Capture& capture) const {
  const auto before = static_cast<double>(capture.launches);
  const auto all = static_cast<double>(sketch_.count());
  if (before * kEarly > all) return false;
  const double mean_before = capture.duration_ns / before;
  const double mean_since =
      (static_cast<double>(sketch_.total_duration()) - capture.duration_ns) / (all - before);
  return std::fabs(mean_before - mean_since) > kDrift * mean_since;
}

void KernelState::UpdateCells() {
  cells_at_ = counted();
  cell_bins_.clear();
  if (times_ == nullptr) {
    cells_ = CellsOf(sketch_, &cell_bins_);
  } else {
    cells_ = times_->Cells(cell_bins_);
    explored_ns_ = 0;
    for (Capture& capture : captures_) Impute(capture.launch, false);
    for (CapturedLaunch& launch : explored_) {
      Impute(launch, true);
      explored_ns_ += launch.sample.record.duration_ns;
    }
  }
  predicted_cells_.clear();
  contexts_.ForEachPredicted(
      [this](std::uint32_t bin) { predicted_cells_.push_back(CellOf(bin)); });
  std::sort(predicted_cells_.begin(), predicted_cells_.end());
  for (Capture& capture : captures_) capture.outlived = Outlived(capture);
}

std::size_t KernelState::CellOf(std::uint32_t bin) const {
  const auto above = std::upper_bound(cell_bins_.begin(), cell_bins_.end(), bin);
  return above == cell_bins_.begin() ? 0 : static_cast<std::size_t>(above - cell_bins_.begin()) - 1;
}

bool KernelState::Predicted(std::size_t first, std::size_t end) const {
  const auto at = std::lower_bound(predicted_cells_.begin(), predicted_cells_.end(), first);
  return at != predicted_cells_.end() && *at < end;
}

std::vector<std::size_t> KernelState::CurrentFirstCells() const {
  std::vector<std::size_t> first_cells;
  for (const OnlineCluster& cluster : clusters_) {
    const std::size_t first = first_cells.empty() ? 0 : CellOf(cluster.first_bin);
    // Means of contexts move, and a cluster may be left without any.
    if (first_cells.empty() || first > first_cells.back()) first_cells.push_back(first);
  }
  return first_cells;
}

Standing KernelState::StandingOf(std::span<const std::size_t> first_cells) const {
  Standing standing;
  for (std::size_t c = 0; c < first_cells.size(); ++c) {
    const std::size_t end = c + 1 < first_cells.size() ? first_cells[c + 1] : cells_.size();
    Moments all;
    for (std::size_t i = first_cells[c]; i < end; ++i) all.Merge(cells_[i]);
    standing.strata.emplace_back(all);
    standing.had.push_back(0);
    standing.explored.push_back(0);
    standing.reachable.push_back(Reachable(Predicted(first_cells[c], end), all.count()));
  }
  const auto stratum = [&](const CapturedLaunch& launch) {
    const std::size_t cell = CellOf(launch.bin);
    const auto above = std::upper_bound(first_cells.begin(), first_cells.end(), cell);
    return static_cast<std::size_t>(above - first_cells.begin()) - 1;
  };
  for (const Capture& capture : captures_) {
    standing.had[stratum(capture.launch)] += capture.outlived ? 0 : 1;
  }
  for (const CapturedLaunch& launch : explored_) ++standing.explored[stratum(launch)];
  return standing;
}

void KernelState::SetCut(std::span<const std::size_t> first_cells, bool anew) {
  std::vector<OnlineCluster> before;
  before.swap(clusters_);
  for (std::size_t c = 0; c < first_cells.size(); ++c) {
    const std::size_t first = first_cells[c];
    const std::size_t end = c + 1 < first_cells.size() ? first_cells[c + 1] : cells_.size();
    OnlineCluster cluster;
    cluster.first_bin = cell_bins_[first];
    cluster.end_bin = cell_bins_[end - 1] + 1;
    for (std::size_t i = first; i < end; ++i) cluster.moments.Merge(cells_[i]);
    cluster.predicted = Predicted(first, end);
    cluster.reachable = Reachable(cluster.predicted, cluster.moments.count());
    // A cluster that keeps its ordinal keeps its standing until sizes are allocated.
    if (c < before.size()) {
      cluster.target = before[c].target;
      cluster.release = before[c].release;
      cluster.closed = before[c].closed;
      cluster.supplemented_at = before[c].supplemented_at;
    }
    clusters_.push_back(cluster);
  }
  cluster_of_bin_.clear();
  first_cut_bin_ = cell_bins_.front();
  for (std::size_t i = 0; i < clusters_.size(); ++i) {
    // Each cluster's bins, and the gap above them up to the next.
    const std::uint32_t end =
        i + 1 < clusters_.size() ? clusters_[i + 1].first_bin : clusters_[i].end_bin;
    cluster_of_bin_.resize(end - first_cut_bin_, static_cast<std::uint16_t>(i));
  }
  const auto home = [this](const CapturedLaunch& launch) -> OnlineCluster& {
    return clusters_[ClusterOf(launch.bin)];
  };
  for (const CapturedLaunch& launch : explored_) ++home(launch).explored;
  for (const Capture& capture : captures_) {
    OnlineCluster& cluster = home(capture.launch);
    if (capture.outlived) {
      ++cluster.outlived;
    } else {
      ++cluster.captured;
      cluster.captured_ns += static_cast<double>(capture.launch.sample.record.duration_ns);
    }
  }
  if (anew) {
    recut_ = true;
    for (CreditLine& line : credit_lines_) line.misses = 0;
  }
}

}  // namespace stemtap
