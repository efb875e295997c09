// SPDX-License-Identifier: Apache-2.0
#include "online/online_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "online/collapse.h"
#include "online/final_clusters.h"
#include "shm/deny_list.h"

namespace stemtap::online {
namespace {

// Samples are allocated again when the observations or their time have grown by an eighth. Targets
// change slowly, and the cost, which is proportional to the number of clusters, is constant per
// observation. Launches that become much longer late in a run show in the time first: with the
// count only, a mode with 44 % of the time ended without a capture.
constexpr std::uint64_t kAllocationGrowthShift = 3;

// Of the captures that a cluster still needs, one in this many has an open credit at a time, but at
// least one. The next credit is granted when a capture has returned, because an allocation may have
// lowered the target by then.
constexpr std::uint64_t kAtOnce = 2;

// An unpredicted cluster without a capture gets credits for this many expected captures. With 3,
// 5 % of such clusters get no capture in one feedback delay; with 2, 14 %. With 2, runs of four
// feedback delays left 2 % of the time uncovered; with 3, 0.3 %, for up to a third more captured
// time.
constexpr std::uint64_t kFirstHits = 3;

// The acceptance probability spends the credits of a line over this fraction of the number of
// launches that the line was offered so far. Captures that are made as soon as credits open share
// the state of that moment (clocks, caches, request lengths) and cost more, because clusters are
// cut better later.
constexpr double kSpread = 0.5;
// The fraction if all captures of a cluster are outlived. Until the cluster has a new capture, the
// estimate has the error of the drift. At 0.5, one warm-up in four ended with an error of 7 to 9 %.
constexpr double kSpreadOutlived = 0.125;

// Maximum credits of one line at a time. More would mean that hardly any launch of the line falls
// into the cluster.
constexpr double kMaxCredits = 1 << 20;

}  // namespace

OnlineSampler::OnlineSampler(const sampling::SamplingOptions& options, shm::GateTable& gate,
                             std::uint64_t observe_first, bool perturbed)
    : options_(options),
      target_(options.target()),
      gate_(gate),
      ledger_(gate),
      observe_first_(observe_first),
      perturbed_(perturbed) {}

std::uint32_t OnlineSampler::AddKernel(std::uint32_t name_id, const shm::LaunchConfig* config) {
  const auto id = static_cast<std::uint32_t>(kernels_.size());
  kernels_.emplace_back(name_id, names_.hash(name_id), config, perturbed_);
  batch_counts_.push_back(0);
  ledger_.AddKernel();
  ++status_.kernels;
  return id;
}

std::uint32_t OnlineSampler::AddKernel(std::string_view name) {
  const std::uint32_t id = names_.Intern(name);
  if (id == kernels_.size()) AddKernel(id, nullptr);
  return id;
}

bool OnlineSampler::AllocationDue() const {
  return status_.observed >= next_allocation_ || status_.duration_ns >= next_allocation_ns_;
}

void OnlineSampler::Begin(std::span<const Observation> batch) {
  batch_ = batch;
  touched_.clear();
  events_.clear();
  allocate_now_ = AllocationDue();
  if (batch.empty()) return;

  // Counting sort by kernel. The order within a kernel stays the launch order, so every decision
  // follows it.
  for (const Observation& seen : batch) {
    std::uint32_t& count = batch_counts_[seen.record.name_id];
    if (count++ == 0) touched_.push_back({seen.record.name_id, 0, 0});
    if ((seen.record.flags & shm::kFlagPerturbed) == 0) {
      status_.duration_ns += seen.record.duration_ns;
    } else {
      ++status_.slowed;
      status_.slowed_beside += (seen.record.flags & shm::kFlagCaptured) == 0;
    }
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

  allocate_now_ = AllocationDue();
  if (allocate_now_) {
    // Include kernels without launches in this batch in the allocation.
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
    // One cluster until the next allocation. Nothing is captured for it.
    kernel.UpdateCells();
    if (!kernel.cells().empty()) kernel.SetCut(std::array<std::size_t, 1>{0}, true);
  }
}

void OnlineSampler::Commit(const ParallelFor& parallel) {
  if (allocate_now_) {
    const bool waited = Waiting();
    Allocate(parallel, false);
    next_allocation_ = status_.observed + (status_.observed >> kAllocationGrowthShift) + 1;
    next_allocation_ns_ = status_.duration_ns + (status_.duration_ns >> kAllocationGrowthShift) + 1;
    if (waited) next_allocation_ = std::min(next_allocation_, FirstRelease());
    status_.clusters_open = 0;
    status_.clusters_closed = 0;
    for (std::uint32_t id = 0; id < kernels_.size(); ++id) {
      kernels_[id].SetAllocated();
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
  std::vector<std::pair<std::uint32_t, CapturedLaunch>> captures;
  for (const Touched& t : touched_) {
    for (const CapturedLaunch& launch : kernels_[t.kernel].unsettled()) {
      captures.emplace_back(t.kernel, launch);
    }
    kernels_[t.kernel].unsettled().clear();
  }
  std::sort(captures.begin(), captures.end(), [](const auto& a, const auto& b) {
    return a.second.sample.index < b.second.sample.index;
  });
  for (const auto& [id, launch] : captures) {
    KernelState& kernel = kernels_[id];
    const model::PlanSample& sample = launch.sample;
    const bool explored = (sample.record.flags & shm::kFlagExploratory) != 0;
    if (!explored) kernel.AddCaptured(launch);
    const std::size_t cluster = kernel.ClusterOf(launch.bin);
    ledger_.Return(id, sample.record.credit_slot);
    ++status_.captured;
    status_.captured_duration_ns += sample.record.duration_ns;
    events_.push_back({MaskEventKind::kCapture, sample.index, kernel.name_id(), sample.occurrence,
                       cluster, sample.record.start_ns, sample.imputed});
  }
}

void OnlineSampler::UpdateStanding(std::uint32_t id) {
  KernelState& kernel = kernels_[id];
  for (std::size_t i = 0; i < kernel.clusters().size(); ++i) {
    OnlineCluster& cluster = kernel.clusters()[i];
    // Sizes are integers, so a closed cluster reopens only if a whole sample is missing.
    const bool enough = cluster.captured >= std::max<std::uint64_t>(cluster.target, 1);
    if (enough == cluster.closed) continue;
    cluster.closed = enough;
    Emit(enough ? MaskEventKind::kClose : MaskEventKind::kReopen, id, i);
  }
  SetCredits(id);
}

void OnlineSampler::SetCredits(std::uint32_t id) {
  KernelState& kernel = kernels_[id];
  const std::vector<double>& offered = kernel.offered();
  std::vector<double> wanted(offered.size(), 0.0);
  std::vector<double> spread(offered.size(), kSpread);
  for (std::size_t i = 0; i < kernel.clusters().size(); ++i) {
    const OnlineCluster& cluster = kernel.clusters()[i];
    const std::uint64_t released = std::min(cluster.target, cluster.release);
    if (cluster.given_up || cluster.captured >= released) continue;
    std::uint64_t need = released - cluster.captured;
    if (cluster.source.predicted()) {
      if (need > 1) need /= kAtOnce;
    } else if (cluster.captured == 0) {
      need = std::max(need, kFirstHits);
    }
    const std::size_t line = cluster.source.line;
    wanted[line] = std::max(wanted[line], static_cast<double>(need) / cluster.source.yield);
    if (cluster.captured == 0 && cluster.outlived > 0) spread[line] = kSpreadOutlived;
  }
  for (std::size_t line = 0; line < offered.size(); ++line) {
    const auto credits = static_cast<std::uint32_t>(std::ceil(std::min(wanted[line], kMaxCredits)));
    const std::uint32_t accept = shm::AcceptOf(credits / (spread[line] * offered[line]));
    // Contexts without a slot can be published when their line gets one.
    if (ledger_.Grant(id, line, credits, accept, status_.observed)) kernel.MarkRecut();
  }
  status_.slots_refused = ledger_.slots_refused();
}

void OnlineSampler::PublishKernel(std::uint32_t id) {
  KernelState& kernel = kernels_[id];
  kernel.contexts().ForEachChanged(kernel.recut(), [&](ContextPredictor::Context& context) {
    // A line without a slot is closed.
    static_assert(shm::kClosedSlot == 0);
    std::uint32_t slot = shm::kNoSlot;
    if (context.trusted() || context.key == kernel.root_key()) {
      const std::size_t line = context.trusted()
                                   ? kernel.LineOf(kernel.ClusterOf(context.candidate_bin))
                                   : KernelState::kCommonLine;
      slot = ledger_.SlotOf(id, line);
    }
    if (slot == context.published_slot) return;
    context.published_slot = slot;
    if (!gate_.Publish(context.key, slot)) ++status_.contexts_refused;
  });
  kernel.ClearRecut();
  if (kernel.root_key() != kernel.name_key() && !kernel.announced()) {
    // The name covers kernels of many configurations: publish it as known, without a prediction.
    gate_.Publish(kernel.name_key(), shm::kClosedSlot);
    kernel.SetAnnounced();
  }
}

void OnlineSampler::Emit(MaskEventKind kind, std::uint32_t kernel, std::size_t cluster) {
  const KernelState& state = kernels_[kernel];
  events_.push_back(
      {kind, last_index_, state.name_id(), state.last_occurrence(), cluster, last_time_ns_, false});
}

model::Plan OnlineSampler::Finish(const ParallelFor& parallel) {
  events_.clear();
  touched_.clear();
  for (KernelState& kernel : kernels_) {
    if (kernel.stale()) kernel.UpdateCells();
  }
  Allocate(parallel, true);
  sampling::PlanBuilder builder(options_);
  std::uint64_t imputed = 0;
  std::uint64_t imputed_ns = 0;
  std::uint64_t unknown = 0;
  double bias_ns = 0.0;
  for (std::uint32_t id = 0; id < kernels_.size(); ++id) {
    KernelState& kernel = kernels_[id];
    if (kernel.launches() == 0) continue;
    if (options_.bound == sampling::BoundScope::kKernel) bias_ns = 0.0;
    std::vector<sampling::SampledCluster> clusters =
        FinalClusters(kernel, JoinedOf(kernel, Standing::kAll, bias_ns));
    // A second pass does not capture kernels on the deny list either.
    const bool denied = shm::WhyDenied(names_.name(kernel.name_id())) != nullptr;
    for (std::size_t i = 0; i < clusters.size() && !denied; ++i) {
      if (clusters[i].samples.empty()) Emit(MaskEventKind::kTopUp, id, i);
    }
    builder.AddKernel(std::string(names_.name(kernel.name_id())), kernel.launches(),
                      kernel.duration_ns(), kernel.zero_duration(), std::move(clusters),
                      kernel.config(), names_.process(kernel.name_id()));
    imputed += kernel.imputed();
    imputed_ns += kernel.imputed_ns();
    if (kernel.native_unknown()) unknown += kernel.imputed();
  }
  model::Plan plan = builder.Finish();
  plan.totals.imputed = imputed;
  plan.totals.imputed_duration_ns = imputed_ns;
  plan.totals.native_unknown = unknown;
  // The native durations of the samples are unknown, and so is the observed error.
  if (status_.captured != 0 && perturbed_) {
    plan.totals.observed_error = NAN;
    model::StateBound(plan.totals);
  }
  return plan;
}

}  // namespace stemtap::online
