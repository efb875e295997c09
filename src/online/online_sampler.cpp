// SPDX-License-Identifier: Apache-2.0
#include "online/online_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "online/completion.h"
#include "stem/certificate.h"

namespace stemtap {
namespace {

// Samples are allocated anew when observations have grown by an eighth: targets move slowly, and
// the cost, proportional to all clusters, spreads to a constant per observation.
constexpr std::uint64_t kAllocationGrowthShift = 3;

// A cluster that its contexts predict badly would be refilled without end. Beyond twice its target
// and a handful of captures that fell elsewhere, it gets no more credits and is left to chance.
constexpr std::uint64_t kMissesPerTarget = 2;
constexpr std::uint64_t kMissesFree = 8;

// Clusters are cut anew when what would then still have to be captured costs less than this share
// of what is missing as they are. Nearer to 1 they would follow chance, and each new cluster wants
// a capture of its own; nearer to 0 they would grow stale.
constexpr double kRecutGain = 0.75;
// A kernel may have this much more variance than the best cut would give it before it is looked at.
constexpr double kBudgetSlack = 1.1;

}  // namespace

OnlineSampler::OnlineSampler(const SamplingOptions& options, wire::GateTable& gate)
    : options_(options), target_(options.target()), gate_(gate) {}

std::uint32_t OnlineSampler::AddKernel(std::uint32_t name_id, std::uint64_t root_key) {
  const auto id = static_cast<std::uint32_t>(kernels_.size());
  kernels_.emplace_back(name_id, wire::NameKey(names_.hash(name_id)), root_key);
  batch_counts_.push_back(0);
  ++status_.kernels;
  return id;
}

std::uint32_t OnlineSampler::AddKernel(std::string_view name) {
  const std::uint32_t id = names_.Intern(name);
  if (id == kernels_.size()) AddKernel(id, wire::NameKey(names_.hash(id)));
  return id;
}

void OnlineSampler::Begin(std::span<const Observation> batch) {
  batch_ = batch;
  touched_.clear();
  events_.clear();
  allocate_now_ = status_.observed + batch.size() >= next_allocation_;
  if (batch.empty()) return;

  // A counting sort by kernel: order within a kernel, and so every decision, is launch order.
  for (const Observation& seen : batch) {
    std::uint32_t& count = batch_counts_[seen.record.name_id];
    if (count++ == 0) touched_.push_back({seen.record.name_id, 0, 0});
    status_.duration_ns += seen.record.duration_ns;
    status_.zero_duration += seen.record.duration_ns == 0;
  }
  std::uint32_t first = 0;
  for (Touched& t : touched_) {
    t.first = first;
    first += std::exchange(batch_counts_[t.kernel], first);
    t.count = first - t.first;
  }
  order_.resize(batch.size());
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    order_[batch_counts_[batch[i].record.name_id]++] = i;
  }
  for (const Touched& t : touched_) batch_counts_[t.kernel] = 0;
  status_.observed += batch.size();
  last_index_ = batch.back().index;
  last_time_ns_ = batch.back().record.start_ns;

  if (allocate_now_) {
    // Kernels without launches in this batch take part in the allocation too.
    for (std::uint32_t id = 0; id < kernels_.size(); ++id) {
      if (kernels_[id].stale()) batch_counts_[id] = 1;
    }
    for (const Touched& t : touched_) batch_counts_[t.kernel] = 0;
    for (std::uint32_t id = 0; id < kernels_.size(); ++id) {
      if (std::exchange(batch_counts_[id], 0) != 0) touched_.push_back({id, 0, 0});
    }
  }
}

void OnlineSampler::UpdateKernel(std::size_t i) {
  const Touched& t = touched_[i];
  KernelState& kernel = kernels_[t.kernel];
  kernel.Observe(batch_, std::span<const std::uint32_t>(order_).subspan(t.first, t.count));
  if (allocate_now_) {
    kernel.UpdateCells();
  } else if (kernel.clusters().empty()) {
    // One cluster until the next allocation; nothing is captured for it but the first sight.
    kernel.UpdateCells();
    kernel.SetCut(std::array<std::size_t, 1>{0}, true);
  }
}

void OnlineSampler::Commit(const ParallelFor& parallel) {
  if (allocate_now_) {
    Allocate(parallel);
    next_allocation_ = status_.observed + (status_.observed >> kAllocationGrowthShift) + 1;
    status_.clusters_open = 0;
    status_.clusters_closed = 0;
    for (std::uint32_t id = 0; id < kernels_.size(); ++id) {
      UpdateStanding(id);
      PublishKernel(id);
      for (const OnlineCluster& cluster : kernels_[id].clusters()) {
        ++(cluster.closed ? status_.clusters_closed : status_.clusters_open);
      }
    }
  } else {
    SettleCaptures();
    for (const Touched& t : touched_) {
      UpdateStanding(t.kernel);
      PublishKernel(t.kernel);
    }
  }
}

void OnlineSampler::SettleCaptures() {
  std::vector<std::pair<std::uint32_t, PlanSample>> captures;
  for (const Touched& t : touched_) {
    for (const PlanSample& s : kernels_[t.kernel].unsettled()) captures.emplace_back(t.kernel, s);
    kernels_[t.kernel].unsettled().clear();
  }
  std::sort(captures.begin(), captures.end(),
            [](const auto& a, const auto& b) { return a.second.index < b.second.index; });
  for (const auto& [id, sample] : captures) {
    KernelState& kernel = kernels_[id];
    kernel.AddCaptured(sample);
    const std::size_t cluster = kernel.ClusterOf(LogSketch::BinOf(sample.record.duration_ns));
    std::vector<CreditLine>& lines = kernel.credit_lines();
    for (std::size_t ordinal = 0; ordinal < lines.size(); ++ordinal) {
      if (lines[ordinal].slot == 0 || lines[ordinal].slot != sample.record.credit_slot) continue;
      ++lines[ordinal].returned;
      lines[ordinal].misses += ordinal != cluster;
    }
    ++status_.captured;
    status_.captured_duration_ns += sample.record.duration_ns;
    events_.push_back({MaskEventKind::kCapture, sample.index, kernel.name_id(), sample.occurrence,
                       cluster, sample.record.start_ns});
  }
}

void OnlineSampler::Allocate(const ParallelFor& parallel) {
  // Captures are counted into the clusters they were made for, then the clusters may change.
  for (KernelState& kernel : kernels_) {
    if (kernel.cells().empty()) continue;
    if (kernel.clusters().empty()) {
      kernel.SetCut(std::array<std::size_t, 1>{0}, true);
    } else {
      kernel.SetCut(kernel.CurrentFirstCells(), false);
    }
  }
  SettleCaptures();

  // Cuts are looked for only while something is missing: what has been captured is enough for what
  // has been seen, or it is not, whatever cut would have been best.
  if (options_.method == Method::kStem || SetTargets() > 0.0) {
    std::vector<KernelCells> cells(kernels_.size());
    for (std::size_t id = 0; id < cells.size(); ++id) cells[id].swap(kernels_[id].cells());
    const WorkloadStrata found = StratifyWorkload(cells, options_, multiplier_, parallel);
    multiplier_ = found.multiplier;
    for (std::size_t id = 0; id < cells.size(); ++id) cells[id].swap(kernels_[id].cells());

    parallel(kernels_.size(), [&](std::size_t id) {
      if (!found.kernels[id].empty()) CutKernel(kernels_[id], found.kernels[id]);
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
  }
  SetStatus();
}

void OnlineSampler::CutKernel(KernelState& kernel, std::span<const StratumRange> strata) const {
  std::vector<std::size_t> fresh;
  for (const StratumRange& s : strata) fresh.push_back(s.first);
  const std::vector<std::size_t> current = kernel.CurrentFirstCells();
  if (fresh == current) return;
  if (options_.method == Method::kStem) return kernel.SetCut(fresh, true);

  // What either cut still has to capture until it is as good as the fresh one is meant to be. What
  // cannot be had costs nothing.
  double budget = 0.0;
  for (const StratumRange& s : strata) {
    budget += EstimateVariance(Stratum(s.moments), s.sample_size);
  }
  const auto cost = [&](std::span<const std::size_t> cut) {
    const Standing all = kernel.StandingOf(cut);
    Standing open;
    for (std::size_t i = 0; i < all.strata.size(); ++i) {
      if (all.had[i] == 0 && !all.reachable[i]) continue;
      open.strata.push_back(all.strata[i]);
      open.had.push_back(all.had[i]);
    }
    const auto sizes =
        CompleteSizes(open.strata, open.had, options_.min_samples, budget * kBudgetSlack);
    return FurtherCost(open.strata, open.had, sizes);
  };
  if (cost(fresh) < kRecutGain * cost(current)) kernel.SetCut(fresh, true);
}

double OnlineSampler::SetTargets() {
  const bool by_kernel = options_.bound == BoundScope::kKernel;
  std::vector<Stratum> strata;
  std::vector<std::uint64_t> had;
  std::vector<OnlineCluster*> clusters;
  double total = 0.0;
  double lost = 0.0;  // time of clusters that no capture will be had of
  double missing = 0.0;
  const auto solve = [&] {
    // What is lost counts in full into the bound, so the rest has to do with less.
    const double share = total > 0.0 ? target_.error_bound - lost / total : 0.0;
    const double margin = std::max(share, target_.error_bound / 2) * total / target_.z;
    const auto sizes = CompleteSizes(strata, had, options_.min_samples, margin * margin);
    for (std::size_t i = 0; i < sizes.size(); ++i) clusters[i]->target = sizes[i];
    missing += FurtherCost(strata, had, sizes);
    strata.clear();
    had.clear();
    clusters.clear();
    total = lost = 0.0;
  };
  for (KernelState& kernel : kernels_) {
    for (OnlineCluster& cluster : kernel.clusters()) {
      const std::uint64_t so_far = kernel.Towards(cluster);
      total += cluster.moments.sum();
      if (so_far == 0 && !cluster.reachable) {
        lost += cluster.moments.sum();
        cluster.target = 1;
        continue;
      }
      strata.emplace_back(cluster.moments);
      had.push_back(so_far);
      clusters.push_back(&cluster);
    }
    if (by_kernel) solve();
  }
  if (!by_kernel) solve();
  return missing;
}

void OnlineSampler::SetStatus() {
  std::vector<Stratum> covered;
  std::vector<std::uint64_t> captured;
  double uncovered = 0.0;
  for (const KernelState& kernel : kernels_) {
    for (const OnlineCluster& cluster : kernel.clusters()) {
      const std::uint64_t counted = kernel.Counted(cluster);
      if (counted == 0) {
        uncovered += cluster.moments.sum();
      } else {
        covered.emplace_back(cluster.moments);
        captured.push_back(counted);
      }
    }
  }
  const auto total = static_cast<double>(status_.duration_ns);
  if (total > 0.0) {
    status_.bound =
        ErrorBound(covered, captured, target_.z) * (1.0 - uncovered / total) + uncovered / total;
  }
}

void OnlineSampler::UpdateStanding(std::uint32_t id) {
  KernelState& kernel = kernels_[id];
  std::vector<CreditLine>& lines = kernel.credit_lines();
  for (std::size_t i = 0; i < kernel.clusters().size(); ++i) {
    OnlineCluster& cluster = kernel.clusters()[i];
    const std::uint64_t target = std::max<std::uint64_t>(cluster.target, 1);
    const std::uint64_t had = kernel.Towards(cluster);
    const bool enough = had >= target;
    // Sizes are whole, so a closed cluster reopens only when it is short by a whole sample.
    if (enough != cluster.closed) {
      cluster.closed = enough;
      Emit(enough ? MaskEventKind::kClose : MaskEventKind::kReopen, id, i);
    }
    if (enough && i >= lines.size()) continue;
    const std::uint32_t slot = SlotOf(kernel, i);
    if (slot == wire::kClosedSlot) continue;
    std::uint64_t need = enough ? 0 : target - had;
    if (lines[i].misses > kMissesPerTarget * cluster.target + kMissesFree) need = 0;
    gate_.Grant(slot, lines[i].returned + static_cast<std::uint32_t>(need));
  }
  // Ordinals that the last cut did away with.
  for (std::size_t i = kernel.clusters().size(); i < lines.size(); ++i) {
    if (lines[i].slot != 0) gate_.Grant(lines[i].slot, lines[i].returned);
  }
}

std::uint32_t OnlineSampler::SlotOf(KernelState& kernel, std::size_t cluster) {
  std::vector<CreditLine>& lines = kernel.credit_lines();
  while (lines.size() <= cluster) {
    CreditLine line;
    if (next_slot_ < wire::kGateSlots) {
      line.slot = next_slot_++;
    } else {
      ++status_.slots_refused;
    }
    lines.push_back(line);
    kernel.MarkRecut();  // contexts that pointed to nothing now have somewhere to point
  }
  return lines[cluster].slot;
}

void OnlineSampler::PublishKernel(std::uint32_t id) {
  KernelState& kernel = kernels_[id];
  const std::vector<CreditLine>& lines = kernel.credit_lines();
  kernel.contexts().ForEachChanged(kernel.recut(), [&](ContextPredictor::Context& context) {
    std::uint32_t slot = wire::kNoSlot;
    if (context.votes >= ContextPredictor::kTrustedVotes) {
      const std::size_t cluster = kernel.ClusterOf(context.candidate_bin);
      slot = cluster < lines.size() ? lines[cluster].slot : wire::kClosedSlot;
    } else if (context.key == kernel.root_key()) {
      slot = wire::kClosedSlot;  // the name is known, where its launches fall is not
    }
    if (slot == context.published_slot) return;
    context.published_slot = slot;
    if (!gate_.Publish(context.key, slot)) ++status_.contexts_refused;
  });
  kernel.ClearRecut();
  if (kernel.root_key() != kernel.name_key() && !kernel.announced()) {
    // The name stands for kernels of many configurations: known, and no prediction.
    gate_.Publish(kernel.name_key(), wire::kClosedSlot);
    kernel.SetAnnounced();
  }
}

void OnlineSampler::Emit(MaskEventKind kind, std::uint32_t kernel, std::size_t cluster) {
  const KernelState& state = kernels_[kernel];
  events_.push_back(
      {kind, last_index_, state.name_id(), state.last_occurrence(), cluster, last_time_ns_});
}

std::vector<SampledCluster> OnlineSampler::FinalClusters(std::uint32_t id) {
  const KernelState& kernel = kernels_[id];
  const std::vector<OnlineCluster>& cut = kernel.clusters();
  // Collapsed strata (Cochran 1977): a cluster without a capture joins its neighbour with one, the
  // nearer by mean. `home[i]` is the cluster that i joins, itself if it has captures.
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> home(cut.size(), kNone);
  for (std::size_t i = 0; i < cut.size(); ++i) {
    if (kernel.Counted(cut[i]) > 0) home[i] = i;
  }
  const std::vector<std::size_t> own = home;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    if (own[i] != kNone) continue;
    std::size_t left = i;
    while (left > 0 && own[left] == kNone) --left;
    std::size_t right = i;
    while (right + 1 < cut.size() && own[right] == kNone) ++right;
    if (own[left] == kNone && own[right] == kNone) continue;  // no capture in this kernel at all
    const double mean = cut[i].moments.mean();
    const bool to_left =
        own[right] == kNone ||
        (own[left] != kNone && mean - cut[left].moments.mean() <= cut[right].moments.mean() - mean);
    home[i] = to_left ? left : right;
  }

  std::vector<SampledCluster> clusters;
  std::vector<std::size_t> place(cut.size(), 0);
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const bool joins = i > 0 && (home[i] == home[i - 1]);
    if (!joins) {
      clusters.emplace_back();
      clusters.back().lower_ns = LogSketch::LowerEdge(cut[i].first_bin);
    }
    SampledCluster& cluster = clusters.back();
    cluster.upper_ns = LogSketch::LowerEdge(cut[i].end_bin) - 1;
    cluster.moments.Merge(cut[i].moments);
    cluster.target += cut[i].target;
    place[i] = clusters.size() - 1;
  }
  for (const PlanSample& sample : kernel.samples()) {
    const std::size_t at = kernel.ClusterOf(LogSketch::BinOf(sample.record.duration_ns));
    clusters[place[at]].samples.push_back(sample);
  }
  for (const PlanSample& sample : kernel.explored()) {
    const std::size_t at = kernel.ClusterOf(LogSketch::BinOf(sample.record.duration_ns));
    if (kernel.Stands(sample)) clusters[place[at]].samples.push_back(sample);
  }
  for (SampledCluster& cluster : clusters) {
    std::sort(cluster.samples.begin(), cluster.samples.end(),
              [](const PlanSample& a, const PlanSample& b) { return a.index < b.index; });
  }
  return clusters;
}

Plan OnlineSampler::Finish(const ParallelFor& parallel) {
  events_.clear();
  touched_.clear();
  for (KernelState& kernel : kernels_) {
    if (kernel.stale()) kernel.UpdateCells();
  }
  Allocate(parallel);
  PlanBuilder builder(options_);
  for (std::uint32_t id = 0; id < kernels_.size(); ++id) {
    const KernelState& kernel = kernels_[id];
    if (kernel.sketch().count() == 0) continue;
    std::vector<SampledCluster> clusters = FinalClusters(id);
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      if (clusters[i].samples.empty()) Emit(MaskEventKind::kTopUp, id, i);
    }
    builder.AddKernel(std::string(names_.name(kernel.name_id())), kernel.sketch().count(),
                      static_cast<std::uint64_t>(kernel.sketch().total_duration()),
                      kernel.zero_duration(), std::move(clusters));
  }
  return builder.Finish();
}

}  // namespace stemtap
