// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_captures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace stemtap::online {
namespace {

// A capture is early if the kernel has been launched at least this many times as often as when the
// capture was made. Replacing early captures thus costs at most one capture per eightfold growth.
constexpr std::uint64_t kEarly = 8;
// An early capture expires if the launches before that time, taken for all launches of its cluster,
// would be off by more than this share of the error bound of the kernel. With 2 % of the mean of
// the cluster instead, long runs of llm-serve made 10 % more captures, with the same errors. With
// 0.5, or a tenth of the error bound of the run, 89 to 90 of 100 runs of `warmup` at 1 % were
// within their bound, because all kernels drift together.
constexpr double kDriftShare = 0.2;
// The means before and after that time must also differ by more than this many standard errors.
// Smaller differences are chance: without this condition, most early captures of wide clusters
// expired although nothing drifted, and the captured time was 1.7 times as high.
constexpr double kSureDrift = 3.0;

std::vector<stats::Moments> ByCluster(const stats::LogSketch& sketch,
                                      const KernelClusters& clusters) {
  std::vector<stats::Moments> launches(clusters.list().size());
  for (std::size_t i = 0; i < sketch.bins().size(); ++i) {
    const auto bin = sketch.first_bin() + static_cast<std::uint32_t>(i);
    if (sketch.bins()[i].count == 0) continue;
    launches[clusters.ClusterOf(bin)].Merge(sketch.BinMoments(bin));
  }
  return launches;
}

// Returns whether the launches `before` differ from the later ones so much that they do not
// represent `all`.
bool HasDrifted(const stats::Moments& before, const stats::Moments& all, double bound_ns) {
  const auto then = static_cast<double>(before.count());
  const auto since = static_cast<double>(all.count()) - then;
  if (then == 0.0 || since == 0.0) return false;
  const double difference = std::fabs(before.mean() - (all.sum() - before.sum()) / since);
  const double error = std::sqrt(all.variance() * (1.0 / then + 1.0 / since));
  // N (mean of `before` - mean of all) = (mean of `before` - mean since) * launches since.
  return difference * since > kDriftShare * bound_ns && difference > kSureDrift * error;
}

}  // namespace

void CaptureExpiry::Update(const stats::LogSketch& durations, const KernelClusters& clusters,
                           double bound_ns, std::vector<Capture>& captures) {
  if (earlier_.empty() || durations.count() >= 2 * earlier_.back().count()) {
    earlier_.push_back(durations);
  }
  const auto is_early = [&](const stats::LogSketch& s) {
    return kEarly * s.count() <= durations.count();
  };
  if (clusters.list().empty() || !is_early(earlier_.front())) return;
  const auto latest_early = std::find_if_not(earlier_.begin(), earlier_.end(), is_early) - 1;
  const std::vector<stats::Moments> before = ByCluster(*latest_early, clusters);
  const std::vector<stats::Moments> all = ByCluster(durations, clusters);
  for (Capture& capture : captures) {
    if (capture.launches > latest_early->count()) break;
    const std::size_t c = clusters.ClusterOf(capture.launch.bin);
    if (HasDrifted(before[c], all[c], bound_ns)) capture.expired = true;
  }
  earlier_.erase(earlier_.begin(), latest_early + 1);
}

void KernelCaptures::Update(const KernelSketch& sketch, const KernelClusters& clusters,
                            double error_bound) {
  if (sketch.imputes()) {
    explored_ns_ = 0;
    for (Capture& capture : by_credit_) sketch.Impute(capture.launch, false);
    for (CapturedLaunch& launch : explored_) {
      sketch.Impute(launch, true);
      explored_ns_ += launch.sample.record.duration_ns;
    }
  }
  const double bound_ns = error_bound * static_cast<double>(sketch.duration_ns());
  expiry_.Update(sketch.durations(), clusters, bound_ns, by_credit_);
}

void KernelCaptures::CountIn(KernelClusters& clusters) const {
  for (const CapturedLaunch& launch : explored_) {
    clusters.list()[clusters.ClusterOf(launch.bin)].explored.Add(
        static_cast<double>(launch.sample.record.duration_ns));
  }
  for (const Capture& capture : by_credit_) {
    OnlineCluster& cluster = clusters.list()[clusters.ClusterOf(capture.launch.bin)];
    if (capture.expired) {
      ++cluster.expired;
    } else {
      cluster.AddCapture(capture.launch.sample.record.duration_ns, capture.launches);
    }
  }
}

}  // namespace stemtap::online
