// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_state.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stemtap::online {

namespace {

// Returns the bin halfway between the bins of two neighboring cells.
std::uint32_t Middle(std::uint32_t below, std::uint32_t above) {
  const std::uint64_t edge =
      (stats::LogSketch::LowerEdge(below + 1) + stats::LogSketch::LowerEdge(above)) / 2;
  return std::max(below + 1, stats::LogSketch::BinOf(edge));
}

}  // namespace

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
    slices_.Add(seen.record.start_ns, seen.record.duration_ns);  // ignored if the start is unknown
    if (times_ != nullptr && (seen.record.flags & shm::kFlagPerturbed) != 0) {
      ObservePerturbed(seen);
      continue;
    }
    const std::uint64_t duration = seen.record.duration_ns;
    const bool captured = (seen.record.flags & shm::kFlagCaptured) != 0;
    if (captured) {
      unsettled_.push_back({{seen.index, seen.occurrence, seen.record, 0.0, false},
                            duration,
                            0,
                            stats::LogSketch::BinOf(duration)});
    }
    zero_duration_ += duration == 0;
    if (captured && (seen.record.flags & shm::kFlagExploratory) != 0) {
      explored_.push_back(unsettled_.back());
      explored_ns_ += duration;
      contexts_.Observe(seen.history_key, seen.config_key, stats::LogSketch::BinOf(duration),
                        cluster_of);
      continue;
    }
    std::uint32_t bin = sketch_.Add(duration);
    if (times_ != nullptr) {
      // The cluster is determined by the context as a whole.
      const std::uint32_t context = times_->ContextOf(seen.history_key, seen.config_key);
      times_->AddNative(context, duration);
      bin = stats::LogSketch::BinOf(times_->MeanOf(context));
    }
    predictions_.Add(
        bin, contexts_.Observe(seen.history_key, seen.config_key, bin, cluster_of, seen.node_key));
  }
  last_occurrence_ = batch[order.back()].occurrence;
}

void KernelState::SetLines() {
  std::vector<double> predicted(clusters_.size(), 0.0);  // launches by predicted cluster
  std::vector<double> right(clusters_.size(), 0.0);      // launches that were predicted correctly
  double all = 0.0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto count = static_cast<double>(cells_[i].count());
    const std::size_t cluster = ClusterOf(cell_bins_[i]);
    all += count;
    predictions_.ForEach(cell_bins_[i], [&](std::uint32_t bin, double share) {
      if (bin == PredictionRecord::kNone) return;
      predicted[ClusterOf(bin)] += count * share;
      if (ClusterOf(bin) == cluster) right[cluster] += count * share;
    });
  }
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    const double others = all - static_cast<double>(clusters_[c].moments.count());
    const double wrong = predicted[c] - right[c];
    const bool tells = others > 0.0 && wrong * all <= kMaxWrong * others * predicted[c];
    const std::size_t line = tells ? 1 + c : kCommonLine;
    if (line != clusters_[c].line) publish_all_ = true;
    clusters_[c].line = line;
  }
}

void KernelState::SetSources() {
  SetLines();
  // Launches and time of each line, and launches by cluster and line.
  const std::size_t lines = 1 + clusters_.size();
  std::vector<std::vector<double>> fell(clusters_.size(), std::vector<double>(lines, 0.0));
  std::vector<double> offered(lines, 0.0);
  std::vector<double> offered_ns(lines, 0.0);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto count = static_cast<double>(cells_[i].count());
    const std::size_t cluster = ClusterOf(cell_bins_[i]);
    predictions_.ForEach(cell_bins_[i], [&](std::uint32_t bin, double share) {
      const std::size_t line =
          bin == PredictionRecord::kNone ? kCommonLine : LineOf(ClusterOf(bin));
      fell[cluster][line] += count * share;
      offered[line] += count * share;
      offered_ns[line] += count * share * cells_[i].mean();
    });
  }
  for (std::size_t line = 0; line < lines; ++line) offered_[line] = offered[line];
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    const double supply = std::accumulate(fell[c].begin(), fell[c].end(), 0.0);
    Source& best = clusters_[c].source;
    best = {clusters_[c].line, 1.0, clusters_[c].moments.mean()};
    bool found = false;
    for (std::size_t line = 0; line < lines; ++line) {
      if (fell[c][line] <= 0.0 || fell[c][line] < kMinSupply * supply) continue;
      const double price = offered_ns[line] / fell[c][line];
      if (found && price >= best.price_ns) continue;
      best = {line, fell[c][line] / offered[line], price};
      found = true;
    }
  }
}

void KernelState::ObservePerturbed(const Observation& seen) {
  const std::uint64_t recorded = seen.record.duration_ns;
  const std::uint32_t context = times_->ContextOf(seen.history_key, seen.config_key);
  const bool explored = (seen.record.flags & shm::kFlagExploratory) != 0;
  zero_duration_ += recorded == 0;
  if ((seen.record.flags & shm::kFlagCaptured) == 0) return times_->AddBeside(context, recorded);
  CapturedLaunch launch{{seen.index, seen.occurrence, seen.record, 0.0, true},
                        recorded,
                        times_->AddCaptured(context, recorded, !explored)};
  Impute(launch, true);  // until the next UpdateCells
  unsettled_.push_back(launch);
  if (!explored) return;
  explored_.push_back(launch);
  explored_ns_ += launch.sample.record.duration_ns;
}

void KernelState::Impute(CapturedLaunch& launch, bool explored) const {
  const std::uint64_t mean = sketch_.count() == 0 ? launch.recorded_ns
                             : explored           ? times_->CapturedMeanOf(launch.captured)
                                                  : times_->GroupMeanOf(launch.captured);
  launch.bin = stats::LogSketch::BinOf(mean);
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
  captures_.push_back({launch, sketch_.count(), false});
}

void KernelState::ExpireCaptures() {
  if (earlier_.empty() || sketch_.count() >= 2 * earlier_.back().count()) {
    earlier_.push_back(sketch_);
  }
  const auto is_early = [this](const stats::LogSketch& s) {
    return kEarly * s.count() <= sketch_.count();
  };
  if (clusters_.empty() || !is_early(earlier_.front())) return;
  const auto latest_early = std::find_if_not(earlier_.begin(), earlier_.end(), is_early) - 1;
  const auto by_cluster = [this](const stats::LogSketch& sketch) {
    std::vector<stats::Moments> launches(clusters_.size());
    for (std::size_t i = 0; i < sketch.bins().size(); ++i) {
      const auto bin = sketch.first_bin() + static_cast<std::uint32_t>(i);
      if (sketch.bins()[i].count != 0) launches[ClusterOf(bin)].Merge(sketch.BinMoments(bin));
    }
    return launches;
  };
  const std::vector<stats::Moments> before = by_cluster(*latest_early);
  const std::vector<stats::Moments> all = by_cluster(sketch_);
  std::vector<bool> drifted(clusters_.size());
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    const auto then = static_cast<double>(before[c].count());
    const auto since = static_cast<double>(all[c].count()) - then;
    if (then == 0.0 || since == 0.0) continue;
    const double mean = (all[c].sum() - before[c].sum()) / since;
    const double difference = std::fabs(before[c].mean() - mean);
    const double error = std::sqrt(all[c].variance() * (1.0 / then + 1.0 / since));
    drifted[c] = difference > kDrift * mean && difference > kSureDrift * error;
  }
  for (Capture& capture : captures_) {
    if (capture.launches > latest_early->count()) break;
    if (drifted[ClusterOf(capture.launch.bin)]) capture.expired = true;
  }
  earlier_.erase(earlier_.begin(), latest_early + 1);
}

void KernelState::UpdateCells() {
  cells_at_ = counted();
  cell_bins_.clear();
  if (times_ == nullptr) {
    cells_ = sampling::CellsOf(sketch_, &cell_bins_);
  } else {
    cells_ = times_->Cells(cell_bins_);
    explored_ns_ = 0;
    for (Capture& capture : captures_) Impute(capture.launch, false);
    for (CapturedLaunch& launch : explored_) {
      Impute(launch, true);
      explored_ns_ += launch.sample.record.duration_ns;
    }
  }
  ExpireCaptures();
}

std::size_t KernelState::CellOf(std::uint32_t bin) const {
  const auto first = std::lower_bound(cell_bins_.begin(), cell_bins_.end(), bin);
  return static_cast<std::size_t>(first - cell_bins_.begin());
}

std::vector<std::size_t> KernelState::CurrentFirstCells() const {
  std::vector<std::size_t> first_cells;
  for (const OnlineCluster& cluster : clusters_) {
    const std::size_t first = first_cells.empty() ? 0 : CellOf(cluster.first_bin);
    // The means of contexts move, so a cluster can be left without cells.
    if (first_cells.empty() || (first > first_cells.back() && first < cells_.size())) {
      first_cells.push_back(first);
    }
  }
  return first_cells;
}

void KernelState::SetCut(std::span<const std::size_t> first_cells, bool anew) {
  std::vector<OnlineCluster> before;
  before.swap(clusters_);
  for (std::size_t c = 0; c < first_cells.size(); ++c) {
    const std::size_t first = first_cells[c];
    const std::size_t end = c + 1 < first_cells.size() ? first_cells[c + 1] : cells_.size();
    OnlineCluster cluster;
    if (c == 0) {
      cluster.first_bin = cell_bins_[first];
    } else {
      // Later launches also fall into the gap between two clusters. Each half of the gap goes to
      // the nearer cluster. If the lower cluster had the whole gap, its mean would grow past its
      // earlier captures.
      cluster.first_bin =
          anew ? Middle(cell_bins_[first - 1], cell_bins_[first]) : before[c].first_bin;
    }
    cluster.end_bin = cell_bins_[end - 1] + 1;
    for (std::size_t i = first; i < end; ++i) cluster.moments.Merge(cells_[i]);
    // A cluster that keeps its index keeps its sampling state until sizes are allocated.
    if (c < before.size()) {
      cluster.target = before[c].target;
      cluster.release = before[c].release;
      cluster.line = before[c].line;
      cluster.unreachable = before[c].unreachable;
      cluster.closed = before[c].closed;
      cluster.supplemented_at = before[c].supplemented_at;
    }
    clusters_.push_back(cluster);
  }
  cluster_of_bin_.clear();
  first_cut_bin_ = cell_bins_.front();
  for (std::size_t i = 0; i < clusters_.size(); ++i) {
    const std::uint32_t end =
        i + 1 < clusters_.size() ? clusters_[i + 1].first_bin : clusters_[i].end_bin;
    cluster_of_bin_.resize(end - first_cut_bin_, static_cast<std::uint16_t>(i));
  }
  const auto home = [this](const CapturedLaunch& launch) -> OnlineCluster& {
    return clusters_[ClusterOf(launch.bin)];
  };
  for (const CapturedLaunch& launch : explored_) {
    home(launch).explored.Add(static_cast<double>(launch.sample.record.duration_ns));
  }
  for (const Capture& capture : captures_) {
    OnlineCluster& cluster = home(capture.launch);
    if (capture.expired) {
      ++cluster.expired;
    } else {
      ++cluster.captured;
      cluster.captured_ns += static_cast<double>(capture.launch.sample.record.duration_ns);
    }
  }
  if (offered_.size() < 1 + clusters_.size()) offered_.resize(1 + clusters_.size());
  if (anew) publish_all_ = true;
  SetSources();
}

}  // namespace stemtap::online
