// SPDX-License-Identifier: Apache-2.0
// The allocation of OnlineSampler: how clusters are cut, how much of each is still to be captured,
// and when. Epochs, credits, events and the plan stand in online_sampler.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "online/completion.h"
#include "online/online_sampler.h"
#include "stem/certificate.h"

namespace stemtap {
namespace {

// Clusters are cut anew when what would then still have to be captured costs less than this share
// of what is missing as they are. Nearer to 1 they would follow chance, and each new cluster wants
// a capture of its own; nearer to 0 they would grow stale.
constexpr double kRecutGain = 0.75;
// ... or when something is missing and all captures, made and to be made, cost this many times what
// the best cut would. A kernel whose durations grow wants a little more at each allocation, which
// would never be much cheaper elsewhere.
constexpr double kMostOverBest = 1.5;
// A cluster without a capture costs as much as this many captures: contexts mispredict, most of all
// where the cut runs through noise.
constexpr double kFirstCapturePrice = 2.0;

// Captures of a cluster are released in steps, a third of its target with each doubling of the
// observations from the first release on.
constexpr double kReleaseDoublings = 3.0;
// The first release is not before the 64th observation: less is no distribution.
constexpr std::uint64_t kFewestObserved = 64;

// A cluster whose captures are off its mean by more than this share of the error bound (of the
// total time) is given one capture more at an allocation ...
constexpr double kOffShare = 0.05;
// ... as long as these cost at most this share of all captures, or the second when the plain estimate
// is far off. With a quarter and a half llm-serve at 5 % cost up to 2.4 times the two-pass plan, with
// these 2.1.
constexpr double kSupplementShare = 0.2;
constexpr double kSupplementShareOff = 0.35;
// "Far off": this share of the error bound. At a half, the budget was spent while a warm-up lasted,
// and fewer runs ended within their bound.
constexpr double kFar = 0.8;

}  // namespace

void OnlineSampler::Allocate(const ParallelFor& parallel, bool last) {
  // Captures are counted into the clusters they were made for, then the clusters may change.
  for (KernelState& kernel : kernels_) {
    if (kernel.cells().empty()) continue;
    if (kernel.clusters().empty()) {
      kernel.SetCut(std::array<std::size_t, 1>{0}, true);
    } else {
      const std::vector<std::size_t> first_cells = kernel.CurrentFirstCells();
      kernel.SetCut(first_cells, first_cells.size() != kernel.clusters().size());
    }
  }
  SettleCaptures();
  if (perturbed_) {
    // A first sight was settled as recorded, before a native launch told what it takes.
    status_.duration_ns = 0;
    status_.captured_duration_ns = 0;
    for (const KernelState& kernel : kernels_) {
      status_.duration_ns += kernel.duration_ns();
      for (const Capture& capture : kernel.captures()) {
        status_.captured_duration_ns += capture.launch.sample.record.duration_ns;
      }
      for (const CapturedLaunch& launch : kernel.explored()) {
        status_.captured_duration_ns += launch.sample.record.duration_ns;
      }
    }
  }

  // Cuts are looked for only while something is missing: what has been captured is enough for what
  // has been seen, or it is not, whatever cut would have been best.
  if (Waiting() && !last) {
    Hold();
    return SetStatus();
  }
  const std::vector<std::vector<std::size_t>> joined =
      Collapsed({target_.z, 0.0, 1.0}, [](const OnlineCluster& c) { return c.captured; });
  if (options_.method == Method::kStem || !Enough(joined)) {
    if (options_.method != Method::kStem) SetTargets();
    std::vector<KernelCells> cells(kernels_.size());
    for (std::size_t id = 0; id < cells.size(); ++id) cells[id].swap(kernels_[id].cells());
    const WorkloadStrata found = StratifyWorkload(cells, options_, multiplier_, parallel);
    multiplier_ = found.multiplier;
    for (std::size_t id = 0; id < cells.size(); ++id) cells[id].swap(kernels_[id].cells());

    parallel(kernels_.size(), [&](std::size_t id) {
      if (!found.kernels[id].empty()) CutKernel(kernels_[id], found.kernels[id], joined[id]);
    });
    if (options_.method == Method::kStem) {
      for (std::size_t id = 0; id < kernels_.size(); ++id) {
        for (std::size_t i = 0; i < found.kernels[id].size(); ++i) {
          kernels_[id].clusters()[i].target = found.kernels[id][i].sample_size;
        }
      }
    } else {
      SetTargets();
    }
    if (!last) {
      Release();
      Supplement(false);
    }
  } else if (!last) {
    Hold();
    Supplement(true);
  }
  SetStatus();
}

std::vector<std::vector<std::size_t>> OnlineSampler::Collapsed(
    const CollapseLimits& limits, std::uint64_t (*had)(const OnlineCluster&)) const {
  std::vector<KernelCoverage> coverage(kernels_.size());
  for (std::size_t id = 0; id < kernels_.size(); ++id) {
    for (const OnlineCluster& cluster : kernels_[id].clusters()) {
      coverage[id].strata.push_back(cluster.moments);
      coverage[id].had.push_back(had(cluster));
    }
  }
  return CollapseStrata(coverage, limits);
}

std::uint64_t OnlineSampler::Least(std::uint64_t explored) const {
  return std::max(options_.min_samples, explored + 1) - explored;
}

bool OnlineSampler::Enough(std::span<const std::vector<std::size_t>> joined) const {
  const bool by_kernel = options_.bound == BoundScope::kKernel;
  double variance = 0.0;
  double uncovered = 0.0;
  double total = 0.0;
  const auto met = [&] {
    const double bound = target_.z * std::sqrt(variance) + uncovered;
    return bound <= target_.error_bound * total;
  };
  for (std::size_t id = 0; id < kernels_.size(); ++id) {
    if (by_kernel) variance = uncovered = total = 0.0;
    total += static_cast<double>(kernels_[id].explored_ns());
    const std::vector<OnlineCluster>& clusters = kernels_[id].clusters();
    for (std::size_t first = 0; first < clusters.size();) {
      Moments all;
      std::uint64_t had = 0;
      std::uint64_t explored = 0;
      std::size_t end = first;
      for (; end < clusters.size() && joined[id][end] == joined[id][first]; ++end) {
        all.Merge(clusters[end].moments);
        had += clusters[end].captured;
        explored += clusters[end].explored;
      }
      total += all.sum();
      if (had < std::min(Least(explored), all.count()) && had > 0) return false;
      if (had == 0) {
        uncovered += all.sum();
      } else {
        variance += EstimateVariance(Stratum(all), had);
      }
      first = end;
    }
    if (by_kernel && !met()) return false;
  }
  return by_kernel || met();
}

namespace {

// What a cut costs: the captures still to be made, and all of them.
struct Cost {
  double further = 0.0;
  double whole = 0.0;
};

}  // namespace

void OnlineSampler::CutKernel(KernelState& kernel, std::span<const StratumRange> strata,
                              std::span<const std::size_t> joined) const {
  std::vector<std::size_t> fresh;
  for (const StratumRange& s : strata) fresh.push_back(s.first);
  const std::vector<std::size_t> current = kernel.CurrentFirstCells();
  if (options_.method == Method::kStem) {
    if (fresh != current) kernel.SetCut(fresh, true);
    return;
  }

  // What another cut would have to capture until it is as good as this one is meant to be. What
  // cannot be had costs nothing.
  double budget = 0.0;
  Cost of_current;
  for (const OnlineCluster& cluster : kernel.clusters()) {
    const std::uint64_t had = cluster.captured;
    if (had == 0 && !cluster.reachable) continue;
    const std::uint64_t size = std::max(cluster.target, had);
    const double mean = cluster.moments.mean();
    of_current.further += static_cast<double>(size - had) * mean;
    if (had == 0) of_current.further += (kFirstCapturePrice - 1.0) * mean;
    of_current.whole += static_cast<double>(size) * mean;
    budget += EstimateVariance(Stratum(cluster.moments), size);
  }
  if (of_current.further <= 0.0) return;
  double best = 0.0;
  for (const StratumRange& s : strata) {
    best += static_cast<double>(s.sample_size) * s.moments.mean();
  }
  const auto cost = [&](std::span<const std::size_t> cut) {
    const Standing all = kernel.StandingOf(cut);
    Standing open;
    std::vector<std::uint64_t> least;
    Cost sum;
    for (std::size_t i = 0; i < all.strata.size(); ++i) {
      if (all.had[i] == 0 && !all.reachable[i]) continue;
      if (all.had[i] == 0) sum.further += (kFirstCapturePrice - 1.0) * all.strata[i].mean;
      open.strata.push_back(all.strata[i]);
      open.had.push_back(all.had[i]);
      least.push_back(Least(all.explored[i]));
    }
    const auto sizes = CompleteSizes(open.strata, open.had, least, budget);
    sum.further += FurtherCost(open.strata, open.had, sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sum.whole += static_cast<double>(sizes[i]) * open.strata[i].mean;
    }
    return sum;
  };
  std::vector<std::size_t> collapsed;
  for (std::size_t i = 0; i < current.size(); ++i) {
    if (i == 0 || joined[i] != joined[i - 1]) collapsed.push_back(current[i]);
  }
  const Cost of_collapsed = collapsed == current ? of_current : cost(collapsed);
  const Cost& kept = of_collapsed.further < of_current.further ? of_collapsed : of_current;
  const bool anew =
      cost(fresh).further < kRecutGain * kept.further || kept.whole > kMostOverBest * best;
  const std::vector<std::size_t>& cut = anew ? fresh : &kept == &of_current ? current : collapsed;
  if (cut != current) kernel.SetCut(cut, true);
}

void OnlineSampler::SetTargets() {
  const bool by_kernel = options_.bound == BoundScope::kKernel;
  std::vector<Stratum> strata;
  std::vector<std::uint64_t> had;
  std::vector<std::uint64_t> least;
  std::vector<OnlineCluster*> clusters;
  double total = 0.0;
  double lost = 0.0;  // time of clusters that no capture will be had of
  const auto solve = [&] {
    // What is lost counts in full into the bound, so the rest has to do with less.
    const double share = total > 0.0 ? target_.error_bound - lost / total : 0.0;
    const double margin = std::max(share, target_.error_bound / 2) * total / target_.z;
    const auto sizes = CompleteSizes(strata, had, least, margin * margin);
    for (std::size_t i = 0; i < sizes.size(); ++i) clusters[i]->target = sizes[i];
    strata.clear();
    had.clear();
    least.clear();
    clusters.clear();
    total = lost = 0.0;
  };
  for (KernelState& kernel : kernels_) {
    total += static_cast<double>(kernel.explored_ns());
    for (OnlineCluster& cluster : kernel.clusters()) {
      const std::uint64_t so_far = cluster.captured;
      total += cluster.moments.sum();
      if (so_far == 0 && !cluster.reachable) {
        lost += cluster.moments.sum();
        cluster.target = 1;
        continue;
      }
      strata.emplace_back(cluster.moments);
      had.push_back(so_far);
      least.push_back(Least(cluster.explored));
      clusters.push_back(&cluster);
    }
    if (by_kernel) solve();
  }
  if (!by_kernel) solve();
}

std::uint64_t OnlineSampler::FirstRelease() const {
  return std::max(observe_first_, kFewestObserved);
}

bool OnlineSampler::Waiting() const {
  return status_.observed < FirstRelease();
}

void OnlineSampler::Hold() {
  for (KernelState& kernel : kernels_) {
    for (OnlineCluster& cluster : kernel.clusters()) {
      cluster.target = std::max<std::uint64_t>(cluster.captured, 1);
      cluster.release = 0;
    }
  }
}

void OnlineSampler::Release() {
  const double doublings =
      std::log2(static_cast<double>(status_.observed) / static_cast<double>(FirstRelease()));
  const double share = std::min(1.0, (1.0 + doublings) / kReleaseDoublings);
  for (KernelState& kernel : kernels_) {
    for (OnlineCluster& cluster : kernel.clusters()) {
      const double part = share * static_cast<double>(cluster.target);
      cluster.release = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(part));
    }
  }
}

void OnlineSampler::Supplement(bool enough) {
  if (Waiting()) return;
  struct Off {
    double by_ns;
    OnlineCluster* cluster;
  };
  std::vector<Off> off;
  double error_ns = 0.0;  // of the plain estimate of what is covered
  const double bound_ns = target_.error_bound * static_cast<double>(status_.duration_ns);
  for (KernelState& kernel : kernels_) {
    for (OnlineCluster& cluster : kernel.clusters()) {
      const std::uint64_t had = cluster.captured;
      if (had == 0) continue;
      const double by_ns =
          static_cast<double>(cluster.moments.count()) *
          (cluster.captured_ns / static_cast<double>(had) - cluster.moments.mean());
      error_ns += by_ns;
      // One that is short as it is gets its captures anyway.
      if (had < cluster.target || had >= cluster.moments.count()) continue;
      off.push_back({by_ns, &cluster});
    }
  }
  // Many clusters may each be off by little and all the same way: they were captured on the same
  // cold clocks.
  const bool far = std::fabs(error_ns) > kFar * bound_ns;
  if (!far && !enough) return;
  std::erase_if(off, [&](const Off& o) {
    return far ? o.by_ns * error_ns <= 0.0 : std::fabs(o.by_ns) <= kOffShare * bound_ns;
  });
  std::stable_sort(off.begin(), off.end(), [](const Off& a, const Off& b) {
    return std::fabs(a.by_ns) > std::fabs(b.by_ns);
  });
  const double most_ns = (far ? kSupplementShareOff : kSupplementShare) *
                         static_cast<double>(status_.captured_duration_ns);
  for (const Off& o : off) {
    if (o.cluster->supplemented_at != o.cluster->captured) {
      const double cost_ns = o.cluster->moments.mean();
      if (supplemented_ns_ + cost_ns > most_ns) continue;
      supplemented_ns_ += cost_ns;
      o.cluster->supplemented_at = o.cluster->captured;
    }
    ++o.cluster->target;
    o.cluster->release = o.cluster->target;
  }
}

void OnlineSampler::SetStatus() {
  std::vector<Stratum> covered;
  std::vector<std::uint64_t> captured;
  double covered_ns = 0.0;  // what is set aside is known, and no part of it
  double uncovered = 0.0;
  for (const KernelState& kernel : kernels_) {
    for (const OnlineCluster& cluster : kernel.clusters()) {
      const std::uint64_t counted = cluster.standing();
      if (counted == 0) {
        uncovered += cluster.moments.sum();
      } else {
        covered.emplace_back(cluster.moments);
        captured.push_back(counted);
        covered_ns += cluster.moments.sum();
      }
    }
  }
  const auto total = static_cast<double>(status_.duration_ns);
  if (total > 0.0) {
    status_.bound = (ErrorBound(covered, captured, target_.z) * covered_ns + uncovered) / total;
  }
}

}  // namespace stemtap
