// SPDX-License-Identifier: Apache-2.0
#include "online/online_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "online/final_clusters.h"
#include "sampling/plan_builder.h"
#include "shm/deny_list.h"

namespace stemtap::online {

OnlineSampler::OnlineSampler(const sampling::SamplingOptions& options, shm::GateTable& gate,
                             std::uint64_t observe_first, bool perturbed)
    : options_(options),
      perturbed_(perturbed),
      publisher_(gate),
      allocator_(options, observe_first) {}

void OnlineSampler::StartOver(std::uint64_t observe_first) {
  publisher_.StartOver(kernels_);
  kernels_.clear();
  range_of_.clear();
  new_names_.clear();
  batches_ = KernelBatches();
  allocator_ = Allocator(options_, observe_first);
  latest_ = Observation();
  events_.clear();
  status_ = SamplerStatus();
  unpublished_ = false;
}

std::uint32_t OnlineSampler::AddKernel(std::uint32_t name_id, const shm::LaunchConfig* config) {
  const auto id = static_cast<std::uint32_t>(kernels_.size());
  kernels_.emplace_back(name_id, names_.hash(name_id), config, perturbed_,
                        options_.price.FixedPerFactor());
  range_of_.push_back(ranges_.Intern(names_.range(name_id)));
  batches_.AddKernel();
  publisher_.AddKernel();
  ++status_.kernels;
  return id;
}

std::uint32_t OnlineSampler::AddKernel(std::string_view name) {
  const std::uint32_t id = names_.Intern(name);
  if (id == kernels_.size()) AddKernel(id, nullptr);
  return id;
}

void OnlineSampler::Begin(std::span<const Observation> batch) {
  events_.clear();
  batches_.Begin(batch);
  for (const Observation& seen : batch) {
    batches_.Count(seen.record.name_id);
    status_.Count(seen.record);
  }
  batches_.Sort();
  status_.observed += batch.size();
  if (!batch.empty()) latest_ = batch.back();
  for (; !new_names_.empty() && new_names_.front().index <= latest_.index; new_names_.pop_front()) {
    kernels_[new_names_.front().kernel].AddName(new_names_.front().hash);
  }
  allocator_.Advance(status_.observed, status_.duration_ns);
  if (allocator_.due()) {
    batches_.AddIdle([this](std::uint32_t id) { return kernels_[id].sketch().stale(); });
  }
}

void OnlineSampler::UpdateKernel(std::size_t i) {
  KernelState& kernel = kernels_[batches_.kernel(i)];
  kernel.Observe(batches_.batch(), batches_.order(i));
  if (allocator_.due()) {
    kernel.UpdateCells();
  } else if (kernel.clusters().empty()) {
    // One cluster until the next allocation. Nothing is captured for it.
    kernel.UpdateCells();
    if (!kernel.cells().empty()) kernel.SetCut(std::array<std::size_t, 1>{0}, true);
  }
}

void OnlineSampler::Commit(const ParallelFor& parallel, Publish publish) {
  if (allocator_.due()) {
    Allocate(parallel);
    allocator_.SetNext(status_.observed, status_.duration_ns);
    if (publish == Publish::kNow) publisher_.RetryRefused(kernels_);
    for (KernelState& kernel : kernels_) kernel.SetAllocated();
  } else {
    SettleCaptures();
  }
  if (publish == Publish::kLater) {
    unpublished_ = true;
  } else if (allocator_.due() || std::exchange(unpublished_, false)) {
    PublishAll(publish);
  } else {
    for (std::size_t i = 0; i < batches_.size(); ++i) PublishKernel(batches_.kernel(i), publish);
  }
  status_.contexts_refused = publisher_.contexts_refused();
  status_.slots_refused = publisher_.slots_refused();
}

void OnlineSampler::PublishAll(Publish publish) {
  unpublished_ = false;
  status_.clusters_open = 0;
  status_.clusters_closed = 0;
  for (std::uint32_t id = 0; id < kernels_.size(); ++id) {
    PublishKernel(id, publish);
    for (const Cluster& cluster : kernels_[id].clusters()) {
      ++(cluster.request.closed ? status_.clusters_closed : status_.clusters_open);
    }
  }
}

void OnlineSampler::SettleCaptures() {
  std::vector<std::pair<std::uint32_t, Capture>> captures;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    const std::uint32_t id = batches_.kernel(i);
    for (Capture& launch : kernels_[id].TakeUnsettled()) captures.emplace_back(id, launch);
  }
  std::sort(captures.begin(), captures.end(), [](const auto& a, const auto& b) {
    return a.second.sample.index < b.second.sample.index;
  });
  for (const auto& [id, launch] : captures) {
    KernelState& kernel = kernels_[id];
    const model::PlanSample& sample = launch.sample;
    if (launch.explored()) {
      ++status_.explored;
    } else {
      publisher_.EndWait(kernel.clusters()[kernel.AddCaptured(launch)]);
    }
    const std::size_t cluster = kernel.ClusterOf(launch.bin);
    publisher_.Return(id, sample.record.credit_slot);
    ++status_.captured;
    status_.captured_duration_ns += sample.record.duration_ns;
    events_.push_back({MaskEventKind::kCapture, sample.index, kernel.name_id(), sample.occurrence,
                       cluster, sample.record.start_ns, sample.imputed});
  }
}

void OnlineSampler::Allocate(const ParallelFor& parallel) {
  // Assign captures to the clusters that they were made for before the clusters change.
  UpdateClusters();
  SettleCaptures();
  if (perturbed_) UpdateDurations();

  SetEnough();
  if (!FollowDirector()) {
    const Cuts cuts = allocator_.Cut(FactsNow(), parallel);
    ApplyCuts(cuts, parallel);
    if (!cuts.recuts.empty() && options_.method != sampling::Method::kStem) SetEnough();
    const std::vector<Decision> decisions = allocator_.Decide(FactsNow(), cuts);
    auto next = decisions.begin();
    for (KernelState& kernel : kernels_) {
      for (Cluster& cluster : kernel.clusters()) cluster.decision = *next++;
    }
  }
  if (status_.duration_ns != 0) {
    status_.bound =
        BoundOf(FactsNow().kernels, options_) / static_cast<double>(status_.duration_ns);
    status_.scope_bound = options_.bound == sampling::BoundScope::kRange
                              ? GreatestRangeBound(FactsNow().kernels, options_)
                              : status_.bound;
  }
}

bool OnlineSampler::FollowDirector() {
  if (director_ == nullptr) return false;
  std::vector<KernelReport> reports;
  std::vector<stats::LogSketch> of_cells(kernels_.size());
  before_.resize(kernels_.size());
  for (std::size_t id = 0; id < kernels_.size(); ++id) {
    const KernelState& kernel = kernels_[id];
    const bool imputes = kernel.sketch().imputes();
    if (imputes) of_cells[id] = SketchOfCells(kernel.sketch().cells());
    reports.push_back({IdOf(kernel), imputes ? &of_cells[id] : &kernel.sketch().durations(),
                       kernel.captures().by_credit(), kernel.clusters(), kernel.correlations(),
                       before_[id] ? &*before_[id] : nullptr, imputes});
  }
  const bool has_ended = allocator_.captures_ended();
  const std::optional<Directions> directions = director_->Direct(reports, has_ended);
  if (!directions || has_ended) {
    for (std::size_t id = 0; id < kernels_.size(); ++id) {
      SetSampled(id);
      kernels_[id].SetAllowed({});
    }
    return false;
  }
  for (std::size_t id = 0; id < kernels_.size(); ++id) {
    if ((*directions)[id].is_sampled) SetSampled(id);
    Follow((*directions)[id].clusters, kernels_[id]);
  }
  SetEnough();
  return true;
}

void OnlineSampler::SetSampled(std::size_t kernel) {
  if (before_[kernel]) return;
  const KernelSketch& sketch = kernels_[kernel].sketch();
  // If captures perturb launches, the run is a single period (kernel_periods.h).
  before_[kernel] = sketch.imputes() ? stats::LogSketch() : sketch.durations();
}

void OnlineSampler::Follow(std::span<const DirectedCluster> directed, KernelState& kernel) {
  const std::vector<std::uint32_t>& bins = kernel.sketch().cells().bins;
  if (bins.empty()) return;
  // The first cell of the launches of each directed cluster; one past the last for those above.
  std::vector<std::size_t> places;
  for (const DirectedCluster& cluster : directed) {
    const auto at = std::lower_bound(bins.begin(), bins.end(), cluster.first_bin);
    places.push_back(places.empty() ? 0 : static_cast<std::size_t>(at - bins.begin()));
  }
  const auto end_of = [&](std::size_t i) {
    return i + 1 < places.size() ? places[i + 1] : bins.size();
  };
  std::vector<std::size_t> first_cells;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < end_of(i)) first_cells.push_back(places[i]);
  }
  if (!first_cells.empty() && first_cells != kernel.CurrentFirstCells()) {
    kernel.SetCut(first_cells, true);
  }
  for (Cluster& cluster : kernel.clusters()) {
    cluster.decision.target = 0;
    cluster.decision.is_shared = true;
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] == end_of(i)) continue;
    kernel.clusters()[kernel.ClusterOf(bins[places[i]])].decision.target += directed[i].target;
  }
  // A capture that is imputed may move to another cluster after the directions were made: it is not
  // made again.
  std::uint64_t allowed = kernel.sketch().imputes() ? 0 : kMaxAstray;
  for (const Cluster& cluster : kernel.clusters()) allowed += cluster.decision.target;
  kernel.SetAllowed(allowed);
}

void OnlineSampler::UpdateClusters() {
  for (KernelState& kernel : kernels_) {
    if (kernel.cells().empty()) continue;
    if (kernel.clusters().empty()) {
      kernel.SetCut(std::array<std::size_t, 1>{0}, true);
    } else {
      const std::vector<std::size_t> first_cells = kernel.CurrentFirstCells();
      kernel.SetCut(first_cells, first_cells.size() != kernel.clusters().size());
    }
  }
}

void OnlineSampler::UpdateDurations() {
  status_.duration_ns = 0;
  status_.captured_duration_ns = 0;
  for (const KernelState& kernel : kernels_) {
    status_.duration_ns += kernel.duration_ns();
    status_.captured_duration_ns += kernel.captures().explored_ns();
    for (const Capture& launch : kernel.captures().by_credit()) {
      status_.captured_duration_ns += launch.sample.record.duration_ns;
    }
  }
}

void OnlineSampler::ApplyCuts(const Cuts& cuts, const ParallelFor& parallel) {
  parallel(cuts.recuts.size(), [&](std::size_t i) {
    kernels_[cuts.recuts[i].kernel].SetCut(cuts.recuts[i].first_cells, true);
  });
}

void OnlineSampler::SetEnough() {
  const std::vector<std::uint64_t> enough = EnoughCaptures(FactsNow().kernels, options_);
  auto next = enough.begin();
  for (KernelState& kernel : kernels_) {
    for (Cluster& cluster : kernel.clusters()) cluster.decision.enough = *next++;
  }
}

Facts OnlineSampler::FactsNow() const {
  Facts facts = {{}, status_.observed, status_.duration_ns};
  for (const KernelState& kernel : kernels_) {
    facts.kernels.push_back(
        {kernel.clusters(), static_cast<double>(kernel.captures().explored_ns()),
         kernel.periods().begins(), &kernel.sketch().cells(), range_of_[facts.kernels.size()]});
  }
  return facts;
}

void OnlineSampler::PublishKernel(std::uint32_t id, Publish publish) {
  KernelState& kernel = kernels_[id];
  for (std::size_t i = 0; i < kernel.clusters().size(); ++i) {
    Cluster& cluster = kernel.clusters()[i];
    // Sizes are integers, so a closed cluster reopens only if a whole sample is missing.
    if (!publisher_.UpdateClosed(cluster)) continue;
    Emit(cluster.request.closed ? MaskEventKind::kClose : MaskEventKind::kReopen, id, i);
  }
  if (publish == Publish::kNow) {
    publisher_.Publish(id, kernel, status_.observed, allocator_.pace());
  }
}

void OnlineSampler::Emit(MaskEventKind kind, std::uint32_t kernel, std::size_t cluster) {
  const KernelState& state = kernels_[kernel];
  events_.push_back({kind, latest_.index, state.name_id(), state.last_occurrence(), cluster,
                     latest_.record.start_ns, false});
}

model::Plan OnlineSampler::Finish(const ParallelFor& parallel) {
  events_.clear();
  batches_.Begin({});
  EndCaptures();
  for (KernelState& kernel : kernels_) {
    if (kernel.sketch().stale()) kernel.UpdateCells();
  }
  Allocate(parallel);
  model::Plan plan = BuildBestPlan();
  if (CertifiedBoundOf(plan) > options_.error_bound) {
    std::vector<std::vector<std::size_t>> cuts;
    for (const KernelState& kernel : kernels_) cuts.push_back(kernel.CurrentFirstCells());
    ApplyCuts(allocator_.CompareCuts(FactsNow(), parallel), parallel);
    model::Plan recut = BuildBestPlan();
    if (CertifiedBoundOf(recut) < CertifiedBoundOf(plan)) {
      plan = std::move(recut);
    } else {
      for (std::size_t id = 0; id < cuts.size(); ++id) {
        if (!cuts[id].empty()) kernels_[id].SetCut(cuts[id], true);
      }
    }
  }
  EmitTopUps(plan);
  return plan;
}

double OnlineSampler::CertifiedBoundOf(const model::Plan& plan) const {
  double bound = plan.totals.certified_bound;
  if (options_.bound != sampling::BoundScope::kRange) return bound;
  for (const model::PlanRange& range : plan.ranges) bound = std::max(bound, range.certified_bound);
  return bound;
}

model::Plan OnlineSampler::BuildBestPlan() {
  SetEnough();
  model::Plan plan = BuildPlan();
  if (CertifiedBoundOf(plan) <= options_.error_bound) return plan;
  // If periods differ, the newest captures have a large bias, and captures of all periods a small
  // one.
  for (KernelState& kernel : kernels_) {
    for (Cluster& cluster : kernel.clusters()) cluster.decision.enough = cluster.captured;
  }
  model::Plan by_all = BuildPlan();
  return CertifiedBoundOf(by_all) < CertifiedBoundOf(plan) ? by_all : plan;
}

void OnlineSampler::EmitTopUps(const model::Plan& plan) {
  auto planned = plan.kernels.begin();
  for (std::uint32_t id = 0; id < kernels_.size(); ++id) {
    if (kernels_[id].launches() == 0) continue;
    const std::vector<model::PlanCluster>& clusters = (planned++)->clusters;
    // A second pass does not capture kernels on the deny list either.
    if (shm::WhyDenied(names_.name(kernels_[id].name_id())) != nullptr) continue;
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      if (clusters[i].samples.empty()) Emit(MaskEventKind::kTopUp, id, i);
    }
  }
}

model::Plan OnlineSampler::BuildPlan() const {
  sampling::PlanBuilder builder(options_);
  model::PlanTotals imputed;
  // The biases of the kernels of a total mostly cancel.
  std::vector<double> biases_ns(ranges_.size() + 1, 0.0);
  for (std::size_t id = 0; id < kernels_.size(); ++id) {
    const KernelState& kernel = kernels_[id];
    if (kernel.launches() == 0) continue;
    double& bias_ns =
        biases_ns[options_.bound == sampling::BoundScope::kRange ? range_of_[id] : ranges_.size()];
    if (options_.bound == sampling::BoundScope::kKernel) bias_ns = 0.0;
    std::vector<sampling::SampledCluster> clusters =
        FinalClusters(kernel, JoinClusters(kernel.clusters(), CountedCaptures::kAll, bias_ns));
    builder.AddKernel(IdOf(kernel), kernel.launches(), kernel.duration_ns(),
                      kernel.sketch().zero_duration(), std::move(clusters));
    imputed.imputed += kernel.imputed();
    imputed.imputed_duration_ns += kernel.imputed_ns();
    if (kernel.native_unknown()) imputed.native_unknown += kernel.imputed();
  }
  model::Plan plan = builder.Finish();
  plan.totals.imputed = imputed.imputed;
  plan.totals.imputed_duration_ns = imputed.imputed_duration_ns;
  plan.totals.native_unknown = imputed.native_unknown;
  // The native durations of the samples are unknown, and so is the observed error.
  if (status_.captured != 0 && perturbed_) {
    plan.totals.observed_error = NAN;
    model::StateBound(plan.totals);
    plan.ranges = sampling::DescribeRanges(plan, options_.confidence);
  }
  return plan;
}

}  // namespace stemtap::online
