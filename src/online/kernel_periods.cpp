// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_periods.h"

#include <algorithm>
#include <utility>

namespace stemtap::online {
namespace {

// A period ends when the launches have grown by this factor since it began, so a doubling has four
// periods, and more if they end early. Each takes the memory of a sketch. The captures of a period
// may be early in it, and a drift within it is not known (docs/math/online-bound.md, "Periods").
constexpr double kGrowth = 1.18920712;

// A period whose captures are in its middle ends early, but not before the launches have grown by
// this factor and this number, so that the mean of its launches is known well.
constexpr double kMinGrowth = 1.02;
constexpr std::uint64_t kMinLaunches = 64;
constexpr std::size_t kMaxWatched = 32;  // captures of a period; more say little more
// The captures are compared with the launches again when the period has grown by this share of its
// launches. Each comparison reads two sketches per capture.
constexpr std::uint64_t kWatchShare = 16;

std::vector<stats::Moments> ByCluster(const stats::LogSketch& sketch,
                                      const KernelClusters& clusters) {
  std::vector<stats::Moments> launches(clusters.list().size());
  for (std::size_t i = 0; i < sketch.bins().size(); ++i) {
    if (sketch.bins()[i].count == 0) continue;
    const auto bin = sketch.first_bin() + static_cast<std::uint32_t>(i);
    launches[clusters.ClusterOf(bin)].Merge(sketch.BinMoments(bin));
  }
  return launches;
}

}  // namespace

void KernelPeriods::AddLaunches(std::uint64_t first_index, std::uint64_t last_index) {
  first_index_ = std::min(first_index_, first_index);
  last_indices_.back() = std::max(last_indices_.back(), last_index);
}

void KernelPeriods::AddCapture(const Capture& launch) {
  const std::uint64_t position = launch.place.position;
  if (!has_capture_) {
    has_capture_ = true;
    const Snapshot& before = latest_.launches.count() < position ? latest_ : previous_;
    if (before.launches.count() > 0 && before.launches.count() < position) EndPeriodAt(before);
    latest_ = previous_ = {};
  }
  const bool is_watched = position > begins_.back() && captures_.size() < kMaxWatched;
  if (is_watched) captures_.push_back(launch.place);
}

// A position counts launches of the capture's cluster: a cluster may have all of its launches of a
// period at the end of it.
bool KernelPeriods::AreCapturesInTheMiddle(const stats::LogSketch& launches) const {
  const std::uint64_t began = begins_.back();
  if (launches.count() < began + kMinLaunches ||
      static_cast<double>(launches.count()) < kMinGrowth * static_cast<double>(began)) {
    return false;
  }
  double sum = 0.0;  // of the positions, as shares of the cluster's launches in the period
  for (const LaunchPlace& place : captures_) {
    const std::uint64_t before = before_.CountIn(place.first_bin, place.end_bin);
    const std::uint64_t now = launches.CountIn(place.first_bin, place.end_bin);
    sum += static_cast<double>(place.in_cluster - before) / static_cast<double>(now - before);
  }
  return sum <= 0.5 * static_cast<double>(captures_.size());
}

void KernelPeriods::Watch(const KernelSketch& sketch) {
  const stats::LogSketch& durations = sketch.durations();
  if (middle_ || captures_.empty() || sketch.imputes() || durations.count() < watch_at_) return;
  watch_at_ = durations.count() + (durations.count() - begins_.back()) / kWatchShare;
  if (AreCapturesInTheMiddle(durations)) middle_ = {durations, last_indices_.back()};
}

void KernelPeriods::Update(const KernelSketch& sketch) {
  if (sketch.imputes()) return;
  const stats::LogSketch& durations = sketch.durations();
  if (!has_capture_) {
    previous_ = std::move(latest_);
    latest_ = {durations, last_indices_.back()};
    return;
  }
  if (middle_) EndPeriodAt(*std::exchange(middle_, std::nullopt));
  const auto began = static_cast<double>(std::max<std::uint64_t>(begins_.back(), 1));
  if (static_cast<double>(durations.count()) >= kGrowth * began) EndPeriod(durations);
}

void KernelPeriods::EndPeriod(const stats::LogSketch& launches) {
  ended_.push_back(launches.Since(before_));
  before_ = launches;
  begins_.push_back(launches.count());
  last_indices_.push_back(last_indices_.back());
  watch_at_ = 0;
  std::erase_if(captures_,
                [&](const LaunchPlace& place) { return place.position <= begins_.back(); });
}

void KernelPeriods::EndPeriodAt(const Snapshot& snapshot) {
  const std::uint64_t last_index = last_indices_.back();
  last_indices_.back() = snapshot.last_index;
  EndPeriod(snapshot.launches);
  last_indices_.back() = last_index;
}

double KernelPeriods::MeanIndex(std::size_t period) const {
  const std::uint64_t before = period == 0 ? first_index_ : last_indices_[period - 1];
  return 0.5 * (static_cast<double>(before) + static_cast<double>(last_indices_[period]));
}

void KernelPeriods::CountIn(KernelClusters& clusters) {
  std::vector<std::uint32_t> cut;
  for (const Cluster& cluster : clusters.list()) cut.push_back(cluster.first_bin);
  if (cut != counted_cut_) counted_.clear();
  for (std::size_t p = counted_.size(); p < ended_.size(); ++p) {
    counted_.push_back(ByCluster(ended_[p], clusters));
  }
  for (std::size_t c = 0; c < clusters.list().size(); ++c) {
    Cluster& cluster = clusters.list()[c];
    cluster.periods.assign(size(), {});
    stats::Moments ended;
    for (std::size_t p = 0; p < ended_.size(); ++p) {
      cluster.periods[p].launches = counted_[p][c];
      ended.Merge(counted_[p][c]);
    }
    cluster.periods.back().launches = stats::Without(cluster.moments, ended);
  }
  counted_cut_ = std::move(cut);
}

std::size_t KernelPeriods::PeriodOf(std::uint64_t position) const {
  // The launch at position `begins_[p]` is the last one before period p.
  const auto after = std::lower_bound(begins_.begin() + 1, begins_.end(), position);
  return static_cast<std::size_t>(after - begins_.begin()) - 1;
}

sampling::KernelCells KernelPeriods::Cells(std::size_t period, const KernelSketch& sketch,
                                           std::uint32_t first_bin, std::uint32_t end_bin) const {
  const stats::LogSketch launches =
      period < ended_.size() ? ended_[period] : sketch.durations().Since(before_);
  sampling::KernelCells cells;
  for (std::size_t i = 0; i < launches.bins().size(); ++i) {
    const auto bin = launches.first_bin() + static_cast<std::uint32_t>(i);
    if (bin < first_bin || bin >= end_bin || launches.bins()[i].count == 0) continue;
    cells.push_back(launches.BinMoments(bin));
  }
  return cells;
}

}  // namespace stemtap::online
