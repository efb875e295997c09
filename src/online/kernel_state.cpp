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
    const std::uint64_t duration = seen.record.duration_ns;
    const bool captured = (seen.record.flags & wire::kFlagCaptured) != 0;
    if (captured) unsettled_.push_back({seen.index, seen.occurrence, seen.record, 0.0});
    zero_duration_ += duration == 0;
    if (captured && (seen.record.flags & wire::kFlagExploratory) != 0) {
      explored_.push_back(unsettled_.back());
      explored_ns_ += duration;
      contexts_.Observe(seen.history_key, seen.config_key, LogSketch::BinOf(duration), cluster_of);
      continue;
    }
    const std::uint32_t bin = sketch_.Add(duration);
    contexts_.Observe(seen.history_key, seen.config_key, bin, cluster_of);
  }
  last_occurrence_ = batch[order.back()].occurrence;
}

void KernelState::AddCaptured(const PlanSample& sample) {
  const std::uint64_t duration = sample.record.duration_ns;
  OnlineCluster& cluster = clusters_[ClusterOf(LogSketch::BinOf(duration))];
  ++cluster.captured;
  cluster.captured_ns += static_cast<double>(duration);
  captures_.push_back(
      {sample, sketch_.count(), static_cast<double>(sketch_.total_duration()), false});
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
  cells_at_ = sketch_.count();
  cell_bins_.clear();
  cells_ = CellsOf(sketch_, &cell_bins_);
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
    first_cells.push_back(first_cells.empty() ? 0 : CellOf(cluster.first_bin));
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
  const auto stratum = [&](const PlanSample& sample) {
    const std::size_t cell = CellOf(LogSketch::BinOf(sample.record.duration_ns));
    const auto above = std::upper_bound(first_cells.begin(), first_cells.end(), cell);
    return static_cast<std::size_t>(above - first_cells.begin()) - 1;
  };
  for (const Capture& capture : captures_) {
    standing.had[stratum(capture.sample)] += capture.outlived ? 0 : 1;
  }
  for (const PlanSample& sample : explored_) ++standing.explored[stratum(sample)];
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
  const auto home = [this](const PlanSample& sample) -> OnlineCluster& {
    return clusters_[ClusterOf(LogSketch::BinOf(sample.record.duration_ns))];
  };
  for (const PlanSample& sample : explored_) ++home(sample).explored;
  for (const Capture& capture : captures_) {
    OnlineCluster& cluster = home(capture.sample);
    if (capture.outlived) {
      ++cluster.outlived;
    } else {
      ++cluster.captured;
      cluster.captured_ns += static_cast<double>(capture.sample.record.duration_ns);
    }
  }
  if (anew) {
    recut_ = true;
    for (CreditLine& line : credit_lines_) line.misses = 0;
  }
}

}  // namespace stemtap
