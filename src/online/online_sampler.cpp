// SPDX-License-Identifier: Apache-2.0
#include "online/online_sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stem/certificate.h"
#include "stem/workload_allocation.h"

namespace stemtap {
namespace {

// Samples are allocated anew when observations have grown by an eighth: targets move slowly, and
// the cost, proportional to all clusters, spreads to a constant per observation.
constexpr std::uint64_t kAllocationGrowthShift = 3;

// A cluster that its contexts predict badly would be refilled without end. Beyond twice its target
// and a handful of captures that fell elsewhere, it gets no more credits and is left to chance.
constexpr std::uint64_t kMissesPerTarget = 2;
constexpr std::uint64_t kMissesFree = 8;

}  // namespace

OnlineSampler::OnlineSampler(const SamplingOptions& options, wire::GateTable& gate)
    : options_(options), target_(options.target()), gate_(gate) {}

std::uint32_t OnlineSampler::AddKernel(std::string_view name) {
  const std::uint32_t id = names_.Intern(name);
  if (id == kernels_.size()) {
    kernels_.emplace_back(wire::NameKey(names_.hash(id)));
    batch_counts_.push_back(0);
    ++status_.kernels;
  }
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
  // Clusters are cut when samples are allocated over them, never apart: a cut older than the
  // allocation knows nothing of a first outlier since, so a cluster of all launches looks spread
  // and would be captured by the thousand; a cut newer than it has targets that were meant for
  // other clusters.
  if (allocate_now_ || kernel.clusters().empty()) kernel.Recut(options_.method, target_);
}

void OnlineSampler::Commit() {
  SettleCaptures();
  if (allocate_now_) {
    Allocate();
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
    events_.push_back({MaskEventKind::kCapture, sample.index, id, sample.occurrence, cluster,
                       sample.record.start_ns});
  }
}

void OnlineSampler::Allocate() {
  std::vector<Stratum> strata;
  std::vector<std::uint64_t> own_sizes;
  std::vector<KernelStrata> spans;
  for (const KernelState& kernel : kernels_) {
    spans.push_back({strata.size(), kernel.clusters().size()});
    for (const OnlineCluster& cluster : kernel.clusters()) {
      strata.emplace_back(cluster.moments);
      own_sizes.push_back(cluster.own_size);
    }
  }
  const std::vector<std::uint64_t> sizes = AllocateWorkload(strata, own_sizes, spans, options_);

  std::vector<Stratum> covered;
  std::vector<std::uint64_t> captured;
  double uncovered = 0.0;
  std::size_t next = 0;
  for (KernelState& kernel : kernels_) {
    for (OnlineCluster& cluster : kernel.clusters()) {
      cluster.target = sizes[next];
      const std::uint64_t counted = kernel.Counted(cluster);
      if (counted == 0) {
        uncovered += strata[next].sum();
      } else {
        covered.push_back(strata[next]);
        captured.push_back(counted);
      }
      ++next;
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
    } else if (context.key == kernel.name_key()) {
      slot = wire::kClosedSlot;  // the name is known, where its launches fall is not
    }
    if (slot == context.published_slot) return;
    context.published_slot = slot;
    if (!gate_.Publish(context.key, slot)) ++status_.contexts_refused;
  });
  kernel.ClearRecut();
}

void OnlineSampler::Emit(MaskEventKind kind, std::uint32_t kernel, std::size_t cluster) {
  const std::uint64_t count = kernels_[kernel].sketch().count();
  events_.push_back(
      {kind, last_index_, kernel, count == 0 ? 0 : count - 1, cluster, last_time_ns_});
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
    if (kernel.Counted(cut[at]) > cut[at].captured) clusters[place[at]].samples.push_back(sample);
  }
  for (SampledCluster& cluster : clusters) {
    std::sort(cluster.samples.begin(), cluster.samples.end(),
              [](const PlanSample& a, const PlanSample& b) { return a.index < b.index; });
  }
  return clusters;
}

Plan OnlineSampler::Finish() {
  events_.clear();
  for (KernelState& kernel : kernels_) {
    if (kernel.sketch().count() != 0) kernel.Recut(options_.method, target_);
  }
  Allocate();
  PlanBuilder builder(options_);
  for (std::uint32_t id = 0; id < kernels_.size(); ++id) {
    const KernelState& kernel = kernels_[id];
    if (kernel.sketch().count() == 0) continue;
    std::vector<SampledCluster> clusters = FinalClusters(id);
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      if (clusters[i].samples.empty()) Emit(MaskEventKind::kTopUp, id, i);
    }
    builder.AddKernel(names_.name(id), kernel.sketch().count(),
                      static_cast<std::uint64_t>(kernel.sketch().total_duration()),
                      kernel.zero_duration(), std::move(clusters));
  }
  return builder.Finish();
}

}  // namespace stemtap
