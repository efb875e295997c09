// SPDX-License-Identifier: Apache-2.0
#include "online/cluster.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stemtap::online {

namespace {

// A line can be the source of a cluster only if it is offered at least this share of the cluster's
// launches. A context that does not recur predicts well but yields no captures.
constexpr double kMinSupply = 0.125;

// A cluster has its own line only if its predictions are wrong at most this many times as often as
// a guess. Otherwise contexts that agree by chance split the launches of a kernel into lines that
// are too short to yield captures; thousands of clusters stayed empty.
constexpr double kMaxWrong = 0.5;

// Returns the bin halfway between the bins of two neighboring cells.
std::uint32_t Middle(std::uint32_t below, std::uint32_t above) {
  const std::uint64_t edge =
      (stats::LogSketch::LowerEdge(below + 1) + stats::LogSketch::LowerEdge(above)) / 2;
  return std::max(below + 1, stats::LogSketch::BinOf(edge));
}

}  // namespace

void KernelClusters::SetCut(const BinnedCells& cells, std::span<const std::size_t> first_cells,
                            bool anew) {
  const std::vector<Cluster> before = std::move(list_);
  list_.clear();
  for (std::size_t c = 0; c < first_cells.size(); ++c) {
    const std::size_t first = first_cells[c];
    const std::size_t end = c + 1 < first_cells.size() ? first_cells[c + 1] : cells.bins.size();
    Cluster& cluster = list_.emplace_back();
    if (c < before.size()) {
      cluster = before[c];
      cluster.moments = cluster.explored = {};
      cluster.captured = 0;
    }
    if (c == 0) {
      cluster.first_bin = cells.bins[first];
    } else if (anew) {
      // Later launches also fall into the gap between two clusters. Each half of the gap goes to
      // the nearer cluster. If the lower cluster had the whole gap, its mean would grow past its
      // earlier captures.
      cluster.first_bin = Middle(cells.bins[first - 1], cells.bins[first]);
    }
    cluster.end_bin = cells.bins[end - 1] + 1;
    for (std::size_t i = first; i < end; ++i) cluster.moments.Merge(cells.moments[i]);
  }
  cluster_of_bin_.clear();
  first_cut_bin_ = cells.bins.front();
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const std::uint32_t end = i + 1 < list_.size() ? list_[i + 1].first_bin : list_[i].end_bin;
    cluster_of_bin_.resize(end - first_cut_bin_, static_cast<std::uint16_t>(i));
  }
  if (offered_.size() < 1 + list_.size()) offered_.resize(1 + list_.size());
}

bool KernelClusters::SetLines(const BinnedCells& cells, const PredictionRecord& predictions) {
  std::vector<double> predicted(list_.size(), 0.0);  // launches by predicted cluster
  std::vector<double> right(list_.size(), 0.0);      // launches that were predicted correctly
  double all = 0.0;
  for (std::size_t i = 0; i < cells.bins.size(); ++i) {
    const auto count = static_cast<double>(cells.moments[i].count());
    const std::size_t cluster = ClusterOf(cells.bins[i]);
    all += count;
    predictions.ForEach(cells.bins[i], [&](std::uint32_t bin, double share) {
      if (bin == PredictionRecord::kNone) return;
      predicted[ClusterOf(bin)] += count * share;
      if (ClusterOf(bin) == cluster) right[cluster] += count * share;
    });
  }
  bool changed = false;
  for (std::size_t c = 0; c < list_.size(); ++c) {
    const double others = all - static_cast<double>(list_[c].moments.count());
    const double wrong = predicted[c] - right[c];
    const bool reliable = others > 0.0 && wrong * all <= kMaxWrong * others * predicted[c];
    const std::size_t line = reliable ? 1 + c : kCommonLine;
    changed = changed || line != list_[c].line;
    list_[c].line = line;
  }
  return changed;
}

bool KernelClusters::SetSources(const BinnedCells& cells, const PredictionRecord& predictions) {
  const bool changed = SetLines(cells, predictions);
  // Launches and time of each line, and launches by cluster and line.
  const std::size_t lines = 1 + list_.size();
  std::vector<std::vector<double>> fell(list_.size(), std::vector<double>(lines, 0.0));
  std::vector<double> offered(lines, 0.0);
  std::vector<double> offered_ns(lines, 0.0);
  for (std::size_t i = 0; i < cells.bins.size(); ++i) {
    const auto count = static_cast<double>(cells.moments[i].count());
    const std::size_t cluster = ClusterOf(cells.bins[i]);
    predictions.ForEach(cells.bins[i], [&](std::uint32_t bin, double share) {
      const std::size_t line =
          bin == PredictionRecord::kNone ? kCommonLine : list_[ClusterOf(bin)].line;
      fell[cluster][line] += count * share;
      offered[line] += count * share;
      offered_ns[line] += count * share * cells.moments[i].mean();
    });
  }
  std::copy(offered.begin(), offered.end(), offered_.begin());
  for (std::size_t c = 0; c < list_.size(); ++c) {
    const double supply = std::accumulate(fell[c].begin(), fell[c].end(), 0.0);
    Source& best = list_[c].source;
    best = {list_[c].line, 1.0, list_[c].moments.mean() + fixed_ns_};
    bool found = false;
    for (std::size_t line = 0; line < lines; ++line) {
      if (fell[c][line] <= 0.0 || fell[c][line] < kMinSupply * supply) continue;
      const double price = (offered_ns[line] + fixed_ns_ * offered[line]) / fell[c][line];
      if (found && price >= best.price_ns) continue;
      best = {line, fell[c][line] / offered[line], price};
      found = true;
    }
  }
  return changed;
}

std::vector<std::size_t> FirstCells(std::span<const Cluster> clusters, const BinnedCells& cells) {
  std::vector<std::size_t> first_cells;
  for (const Cluster& cluster : clusters) {
    const auto at = std::lower_bound(cells.bins.begin(), cells.bins.end(), cluster.first_bin);
    const std::size_t first =
        first_cells.empty() ? 0 : static_cast<std::size_t>(at - cells.bins.begin());
    // The means of contexts move, so a cluster can be left without cells.
    if (first_cells.empty() || (first > first_cells.back() && first < cells.bins.size())) {
      first_cells.push_back(first);
    }
  }
  return first_cells;
}

}  // namespace stemtap::online
