// SPDX-License-Identifier: Apache-2.0
#include "fleet/leader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "online/online_allocation.h"
#include "sampling/strata.h"
#include "shm/context_key.h"

namespace stemtap::fleet {
namespace {

// A capture that was not reported by so many decisions after the next one is asked of another run
// too: the first may have no further launch of the cluster.
constexpr std::uint64_t kPatience = 1;
// A run is asked for captures of a cluster only if it predicts the cluster at least half as well as
// the run that predicts it best: otherwise it captures other launches in its place. The price does
// not matter: it is proportional to the durations of the run, so captures would be of short
// launches (with ranks that do different work, estimates were 15 % low).
constexpr double kLeastRelative = 0.5;
// A run that would have more than this share of the job's captured time, made or awaited, is not
// asked, if runs with less have half of the launches: few captures of long launches are most of the
// time. With few runs, twice their mean.
constexpr double kMaxLoad = 1.0 / 8.0;
// Yield of a run without launches of the cluster.
constexpr double kLeastYield = 1e-6;

// Returns a fraction in [0, 1) that depends on all arguments.
double Fraction(std::uint64_t seed, std::uint64_t kernel, std::uint64_t cluster,
                std::uint64_t decision) {
  const std::uint64_t mixed =
      shm::MixKeys(shm::MixKeys(seed, kernel), shm::MixKeys(cluster, decision));
  return std::ldexp(static_cast<double>(mixed >> 11), -53);
}

// Returns the bins [first, end) of a cluster. The first and the last one contain all bins outside.
std::pair<std::uint32_t, std::uint32_t> BinsOf(std::span<const online::Cluster> clusters,
                                               std::size_t cluster) {
  return {cluster == 0 ? 0 : clusters[cluster].first_bin, cluster + 1 < clusters.size()
                                                              ? clusters[cluster + 1].first_bin
                                                              : stats::LogSketch::kEndBin};
}

// Returns the bin of a mean duration. Converting the mean of durations near 2^64 is undefined.
std::uint32_t BinOfMean(const stats::Moments& launches) {
  return stats::LogSketch::BinOf(
      static_cast<std::uint64_t>(std::clamp(launches.mean(), 0.0, 0x1p63)));
}

// Returns the middle of the durations in `bin`.
double MeanOf(std::uint32_t bin) {
  return 0.5 * (static_cast<double>(stats::LogSketch::LowerEdge(bin)) +
                static_cast<double>(stats::LogSketch::LowerEdge(bin + 1)));
}

// Returns the bin of the mean of the launches in the bins [first, end); `first` if there are none.
std::uint32_t MeanBin(const stats::LogSketch& sketch, std::uint32_t first, std::uint32_t end) {
  const stats::Moments launches = sketch.MomentsIn(first, end);
  return launches.count() == 0 ? first : BinOfMean(launches);
}

}  // namespace

Leader::Leader(const sampling::SamplingOptions& options, AskingPace pace)
    : options_(options),
      pace_(pace),
      fixed_ns_(options.price.FixedPerFactor()),
      allocator_(options, pace.observe_first) {}

void Leader::SetRun(const std::string& run, bool is_alive) {
  const auto [at, is_new] = runs_.try_emplace(run, Run{is_alive});
  if (!is_new && at->second.is_alive == is_alive) return;
  at->second.is_alive = is_alive;
  runs_changed_ = true;
  if (is_alive) return;
  for (auto& [key, kernel] : kernels_) {
    if (const auto share = kernel.shares.find(run); share != kernel.shares.end()) {
      share->second.asked.clear();
    }
  }
}

bool Leader::IsAlive(const std::string& run) const {
  const auto known = runs_.find(run);
  return known != runs_.end() && known->second.is_alive;
}

void Leader::Await(std::uint32_t bin, std::uint64_t count, Share& share) const {
  if (count != 0) share.asked.push_back({bin, count, decisions_});
}

void Leader::Settle(std::vector<Asked>::iterator asked, Share& share) {
  if (--asked->count == 0) share.asked.erase(asked);
  share.missed = 0;
}

Leader::Kernel& Leader::KernelOf(std::uint64_t key) {
  return kernels_.try_emplace(key, fixed_ns_).first->second;
}

void Leader::SetSketch(const std::string& run, std::uint64_t kernel, stats::LogSketch sketch) {
  Kernel& of = KernelOf(kernel);
  stats::LogSketch& known = of.shares[run].sketch;
  launches_ += sketch.count() - known.count();
  duration_ns_ += static_cast<std::uint64_t>(sketch.total_duration() - known.total_duration());
  known = std::move(sketch);
  of.is_stale = true;
}

void Leader::SetTraits(const std::string& run, std::uint64_t kernel, Traits traits) {
  Kernel& of = KernelOf(kernel);
  of.shares[run].traits = std::move(traits);
  of.is_stale = true;
}

void Leader::AddCapture(const std::string& run, std::uint64_t kernel, std::uint64_t index,
                        std::uint64_t occurrence, std::uint32_t bin) {
  Kernel& of = KernelOf(kernel);
  Share& share = of.shares[run];
  const Capture capture = {bin, occurrence};
  if (!share.captures.insert_or_assign(index, capture).second) return;
  ++captured_;
  const std::size_t cluster = of.clusters.ClusterOf(bin);
  const auto awaited =
      std::find_if(share.asked.begin(), share.asked.end(),
                   [&](const Asked& asked) { return of.clusters.ClusterOf(asked.bin) == cluster; });
  if (awaited != share.asked.end()) {
    Settle(awaited, share);
  } else if (!share.asked.empty() && ++share.missed == online::kMaxAstray) {
    Settle(share.asked.begin(), share);  // another run may be able to predict the cluster
  }
}

void Leader::SetAsked(const std::string& run, const std::vector<DirectedKernel>& directions) {
  if (!IsAlive(run)) return;
  for (const DirectedKernel& directed : directions) {
    Share& share = KernelOf(directed.key).shares[run];
    share.asked.clear();
    for (std::size_t c = 0; c < directed.clusters.size(); ++c) {
      const std::uint32_t first = c == 0 ? 0 : directed.clusters[c].first_bin;
      const std::uint32_t end = c + 1 < directed.clusters.size()
                                    ? directed.clusters[c + 1].first_bin
                                    : stats::LogSketch::kEndBin;
      std::uint64_t captured = 0;
      for (const auto& [index, capture] : share.captures) {
        captured += first <= capture.bin && capture.bin < end;
      }
      // A run has at most as many launches as it can capture.
      const std::uint64_t target = std::min(directed.clusters[c].target, share.sketch.count());
      // The clusters may be cut elsewhere by now, so the mean is safer than the first bin.
      if (captured < target) Await(MeanBin(share.sketch, first, end), target - captured, share);
    }
  }
}

void Leader::Refresh() {
  for (auto& [key, kernel] : kernels_) {
    if (!std::exchange(kernel.is_stale, false)) continue;
    kernel.sketch = kernel.capturable = {};
    for (const auto& [run, share] : kernel.shares) {
      kernel.sketch.Merge(share.sketch);
      kernel.capturable.Merge(CapturableOf(share.sketch, share.traits));
    }
    kernel.begins = {0};
    if (kernel.capturable.count() != 0 && kernel.capturable.count() < kernel.sketch.count()) {
      kernel.begins.push_back(kernel.sketch.count() - kernel.capturable.count());
    }
    kernel.cells = {};
    kernel.cells.moments = sampling::CellsOf(kernel.sketch, &kernel.cells.bins);
    if (kernel.cells.bins.empty()) continue;
    const bool is_new = kernel.clusters.list().empty();
    const std::vector<std::size_t> first_cells =
        is_new ? std::vector<std::size_t>{0}
               : online::FirstCells(kernel.clusters.list(), kernel.cells);
    kernel.clusters.SetCut(kernel.cells, first_cells,
                           is_new || first_cells.size() != kernel.clusters.list().size());
  }
}

Price Leader::PriceOf(const Share& share, const online::Cluster& cluster, std::uint32_t first,
                      std::uint32_t end) {
  const double mean_ns = cluster.moments.mean();
  const std::uint32_t bin = BinOfMean(cluster.moments);
  std::size_t at = 0;
  const std::vector<Price>& prices = share.traits.prices;
  while (at + 1 < prices.size() && prices[at + 1].first_bin <= bin) ++at;
  if (at >= prices.size()) return {0, 1.0, mean_ns};
  // The run may be cut otherwise: only some of the launches that it predicts are in the cluster.
  Price price = prices[at];
  const std::uint32_t range = at == 0 ? 0 : price.first_bin;
  const std::uint32_t range_end =
      at + 1 < prices.size() ? prices[at + 1].first_bin : stats::LogSketch::kEndBin;
  const auto all = static_cast<double>(share.sketch.CountIn(range, range_end));
  const auto inside =
      static_cast<double>(share.sketch.CountIn(std::max(first, range), std::min(end, range_end)));
  if (!(inside > 0.0)) return {0, kLeastYield, mean_ns / kLeastYield};
  price.yield *= inside / all;
  price.price_ns *= all / inside;
  return price;
}

online::Source Leader::SourceOf(const Kernel& kernel, const online::Cluster& cluster,
                                std::uint32_t first, std::uint32_t end) {
  // The mean over the launches of the cluster.
  double launches = 0.0;
  double yield = 0.0;
  double price_ns = 0.0;
  for (const auto& [run, share] : kernel.shares) {
    const auto count = static_cast<double>(share.sketch.CountIn(first, end));
    const Price price = PriceOf(share, cluster, first, end);
    launches += count;
    yield += count * price.yield;
    price_ns += count * price.price_ns;
  }
  if (!(launches > 0.0)) return {0, 1.0, cluster.moments.mean()};
  return {0, yield / launches, price_ns / launches};
}

void Leader::Count(Kernel& kernel) const {
  std::vector<online::Cluster>& clusters = kernel.clusters.list();
  if (clusters.empty()) return;
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    online::Cluster& cluster = clusters[c];
    const auto [first, end] = BinsOf(clusters, c);
    cluster.captured = 0;
    cluster.periods.assign(kernel.begins.size(), {});
    cluster.periods.back().launches = cluster.moments;
    if (kernel.begins.size() > 1) {
      stats::Moments capturable = kernel.capturable.MomentsIn(first, end);
      cluster.periods[0].launches = stats::Without(cluster.moments, capturable);
      cluster.periods[1].launches = capturable;
    }
    cluster.source = SourceOf(kernel, cluster, first, end);
  }
  const auto all = static_cast<double>(kernel.sketch.count());
  std::vector<std::vector<std::uint64_t>> occurrences(clusters.size());
  for (const auto& [run, share] : kernel.shares) {
    const auto of_run = static_cast<double>(std::max<std::uint64_t>(share.sketch.count(), 1));
    for (const auto& [index, capture] : share.captures) {
      const std::size_t cluster = kernel.clusters.ClusterOf(capture.bin);
      // Launches of different runs at the same part of their runs have the same position. Ranks may
      // work on the same prompt at the same time, so their captures count as if of one run.
      const double part = std::min(1.0, static_cast<double>(capture.occurrence + 1) / of_run);
      const auto position = static_cast<std::uint64_t>(part * all);
      clusters[cluster].AddCapture(kernel.begins.size() - 1,
                                   std::max(position, kernel.begins.back() + 1));
      occurrences[cluster].push_back(capture.occurrence);
    }
  }
  stats::Correlations correlations;
  for (const auto& [run, share] : kernel.shares) {
    correlations.Add(share.traits.correlations, static_cast<double>(share.sketch.count()) / all);
  }
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    std::sort(occurrences[c].begin(), occurrences[c].end());
    clusters[c].periods.back().repeats = 2.0 * correlations.OfPairs(occurrences[c]);
  }
}

online::Facts Leader::FactsNow() const {
  const std::uint64_t runs = std::max<std::uint64_t>(runs_.size(), 1);
  online::Facts facts = {{}, launches_ / runs, duration_ns_};
  for (const auto& [key, kernel] : kernels_) {
    facts.kernels.push_back({kernel.clusters.list(), 0.0, kernel.begins, &kernel.cells, 0});
  }
  return facts;
}

void Leader::SetEnough() {
  const std::vector<std::uint64_t> enough = online::EnoughCaptures(FactsNow().kernels, options_);
  auto next = enough.begin();
  for (auto& [key, kernel] : kernels_) {
    for (online::Cluster& cluster : kernel.clusters.list()) cluster.decision.enough = *next++;
  }
}

bool Leader::Decide() {
  const std::uint64_t observed = launches_ / std::max<std::uint64_t>(runs_.size(), 1);
  allocator_.Advance(observed, duration_ns_);
  if (!allocator_.due() && !std::exchange(runs_changed_, false)) return false;
  runs_changed_ = false;
  ++decisions_;
  Refresh();
  for (auto& [key, kernel] : kernels_) Count(kernel);
  SetEnough();
  const online::Cuts cuts = allocator_.Cut(FactsNow(), Serially);
  std::vector<Kernel*> by_place;
  for (auto& [key, kernel] : kernels_) by_place.push_back(&kernel);
  for (const online::Cuts::Recut& recut : cuts.recuts) {
    Kernel& kernel = *by_place[recut.kernel];
    kernel.clusters.SetCut(kernel.cells, recut.first_cells, true);
    Count(kernel);
  }
  if (!cuts.recuts.empty()) SetEnough();
  const std::vector<online::Decision> decisions = allocator_.Decide(FactsNow(), cuts);
  auto next = decisions.begin();
  for (auto& [key, kernel] : kernels_) {
    for (online::Cluster& cluster : kernel.clusters.list()) {
      cluster.decision = *next++;
      kernel.is_sampled |= cluster.decision.target != 0 || cluster.captured != 0;
    }
  }
  allocator_.SetNext(observed, duration_ns_);
  Weigh();
  for (auto& [key, kernel] : kernels_) Ask(key, kernel);
  return true;
}

void Leader::AddAwaited(std::uint64_t missing, const online::KernelClusters& clusters,
                        std::size_t cluster, Share& share, Awaited& awaited) const {
  for (Asked& asked : share.asked) {
    if (clusters.ClusterOf(asked.bin) != cluster) continue;
    const bool is_overdue = asked.decision + kPatience < decisions_;
    std::uint64_t& sum = is_overdue ? awaited.overdue : awaited.in_time;
    asked.count = std::min(asked.count, missing - std::min(missing, sum));
    sum += asked.count;
  }
  std::erase_if(share.asked, [](const Asked& asked) { return asked.count == 0; });
}

void Leader::Weigh() {
  load_ns_ = 0.0;
  for (auto& [id, run] : runs_) run.load_ns = 0.0;
  for (const auto& [key, kernel] : kernels_) {
    for (const auto& [id, share] : kernel.shares) {
      double load_ns = 0.0;
      for (const auto& [index, capture] : share.captures) load_ns += MeanOf(capture.bin);
      for (const Asked& asked : share.asked) {
        load_ns += static_cast<double>(asked.count) * MeanOf(asked.bin);
      }
      load_ns_ += load_ns;
      if (const auto run = runs_.find(id); run != runs_.end()) run->second.load_ns += load_ns;
    }
  }
}

void Leader::SpareLoaded(std::uint64_t lacking, double mean_ns,
                         std::vector<Candidate>& candidates) const {
  const double most = std::max(kMaxLoad, 2.0 / static_cast<double>(runs_.size())) *
                      (load_ns_ + static_cast<double>(lacking) * mean_ns);
  const double limit = std::max(most - mean_ns, MedianLoad(candidates));
  std::erase_if(candidates, [&](const Candidate& c) { return c.run->load_ns > limit; });
}

double Leader::MedianLoad(std::vector<Candidate> candidates) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.run->load_ns < b.run->load_ns; });
  double all = 0.0;
  for (const Candidate& candidate : candidates) all += candidate.launches;
  double before = 0.0;
  for (const Candidate& candidate : candidates) {
    before += candidate.launches;
    if (2.0 * before >= all) return candidate.run->load_ns;
  }
  return 0.0;
}

void Leader::Ask(std::uint64_t key, Kernel& kernel) {
  const std::vector<online::Cluster>& clusters = kernel.clusters.list();
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    const auto [first, end] = BinsOf(clusters, c);
    double best_yield = 0.0;
    for (const auto& [run, share] : kernel.shares) {
      if (IsAlive(run) && share.sketch.CountIn(first, end) != 0) {
        best_yield = std::max(best_yield, PriceOf(share, clusters[c], first, end).yield);
      }
    }
    const std::uint64_t target = clusters[c].decision.target;
    const std::uint64_t missing = target - std::min(clusters[c].captured, target);
    Awaited awaited;
    std::vector<Candidate> candidates;
    for (auto& [run, share] : kernel.shares) {
      const bool predicts_badly =
          PriceOf(share, clusters[c], first, end).yield < kLeastRelative * best_yield;
      // The target may have fallen since captures were asked for.
      AddAwaited(predicts_badly ? 0 : missing, kernel.clusters, c, share, awaited);
      const auto count = static_cast<double>(share.sketch.CountIn(first, end));
      if (predicts_badly || !IsAlive(run) || count == 0.0) continue;
      candidates.push_back({&share, &runs_.at(run), count});
    }
    const std::uint64_t wanted =
        std::min(missing, std::max<std::uint64_t>(missing / pace_.at_once, 1));
    if (candidates.empty() || awaited.in_time >= wanted) continue;
    // Systematic sampling: a run with a share of the launches gets that share of the captures, or
    // one more or less. Any bin of the cluster identifies it.
    const std::uint64_t lacking = wanted - awaited.in_time;
    const double mean_ns = clusters[c].moments.mean();
    SpareLoaded(lacking, mean_ns, candidates);
    double launches = 0.0;
    for (const Candidate& candidate : candidates) launches += candidate.launches;
    const double offset = Fraction(options_.seed, key, c, decisions_);
    double before = 0.0;
    std::uint64_t asked = 0;
    for (const Candidate& candidate : candidates) {
      before += candidate.launches;
      const double until = std::ceil(static_cast<double>(lacking) * (before / launches) - offset);
      // The last run gets the rest of the division.
      const std::uint64_t up_to =
          before < launches
              ? std::clamp(static_cast<std::uint64_t>(std::max(until, 0.0)), asked, lacking)
              : lacking;
      Await(BinOfMean(clusters[c].moments), up_to - asked, *candidate.share);
      candidate.run->load_ns += static_cast<double>(up_to - asked) * mean_ns;
      load_ns_ += static_cast<double>(up_to - asked) * mean_ns;
      asked = up_to;
    }
  }
}

std::vector<DirectedKernel> Leader::Clusters() const {
  std::vector<DirectedKernel> directed;
  for (const auto& [key, kernel] : kernels_) {
    DirectedKernel& of = directed.emplace_back();
    of.key = key;
    of.is_sampled = kernel.is_sampled;
    const std::vector<online::Cluster>& clusters = kernel.clusters.list();
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      of.clusters.push_back({clusters[c].first_bin, clusters[c].decision.target});
    }
  }
  return directed;
}

std::vector<DirectedKernel> Leader::Of(const std::string& run) const {
  std::vector<DirectedKernel> directed = Clusters();
  auto of = directed.begin();
  for (const auto& [key, kernel] : kernels_) {
    const auto share = kernel.shares.find(run);
    std::vector<online::DirectedCluster>& clusters = of->clusters;
    for (online::DirectedCluster& cluster : clusters) cluster.target = 0;
    if (share != kernel.shares.end() && !clusters.empty()) {
      for (const auto& [index, capture] : share->second.captures) {
        ++clusters[kernel.clusters.ClusterOf(capture.bin)].target;
      }
      for (const Asked& asked : share->second.asked) {
        clusters[kernel.clusters.ClusterOf(asked.bin)].target += asked.count;
      }
    }
    ++of;
  }
  return directed;
}

}  // namespace stemtap::fleet
