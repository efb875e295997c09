// SPDX-License-Identifier: Apache-2.0
#include "session/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "model/kernel_name.h"

namespace stemtap::session {

namespace {

model::KernelGroups GroupsOf(const sampling::SamplingOptions& options) {
  Result<model::KernelGroups> groups =
      model::KernelGroups::Create(options.group_by, options.exclude);
  return groups.ok() ? std::move(groups).value()
                     : model::KernelGroups::Create(options.group_by, "").value();
}

ParallelFor OnPool(WorkerPool& pool) {
  return [&pool](std::size_t count, const std::function<void(std::size_t)>& part) {
    pool.ForEach(count, part);
  };
}

// Sets the ranges and steps of the samples.
void SetMarks(const CaptureMarks& marks, model::Plan& plan) {
  for (model::PlanKernel& kernel : plan.kernels) {
    for (model::PlanCluster& cluster : kernel.clusters) {
      for (model::PlanSample& sample : cluster.samples) {
        const NamedMark mark = marks.Of(sample.index);
        if (mark.empty()) continue;
        sample.range = mark.range;
        sample.step = mark.step;
      }
    }
  }
}

}  // namespace

Engine::Engine(const sampling::SamplingOptions& options, shm::GateTable& gate, GateAsked asked,
               std::uint64_t lag, WorkerPool& pool, Captures captures)
    : options_(options),
      gate_(gate),
      pool_(pool),
      sampler_(options, gate, asked == GateAsked::kByEngine ? lag : kLiveObserveFirst,
               captures == Captures::kPerturb),
      groups_(GroupsOf(options)),
      occurrences_(options.group_by),
      tracker_(asked == GateAsked::kByEngine ? LaunchTracker::Graphs::kInHistories
                                             : LaunchTracker::Graphs::kOutside),
      lag_(lag),
      queue_(lag) {
  if (asked == GateAsked::kByEngine) local_gate_.emplace(gate, options.seed);
  if (captures == Captures::kPerturb) perturbed_.emplace();
}

std::uint32_t Engine::PlanName(std::uint32_t name_id) {
  if (options_.group_by != model::GroupBy::kFunction) return name_id;
  const model::NameTable& names = sampler_.names();
  while (functions_.size() <= name_id) {
    const auto id = static_cast<std::uint32_t>(functions_.size());
    functions_.push_back(
        sampler_.AddName(model::FunctionName(names.name(id)), names.process(id), names.range(id)));
  }
  return functions_[name_id];
}

std::uint32_t Engine::KernelOf(const shm::KernelRecord& record) {
  const std::uint32_t group = groups_.Of(record, sampler_.names());
  if (group == model::kExcludedKernel) return group;
  if (group == sampler_.kernels()) {
    sampler_.AddKernel(PlanName(record.name_id), options_.group_by == model::GroupBy::kLaunch
                                                     ? &groups_.group(group).config
                                                     : nullptr);
  }
  if (options_.group_by == model::GroupBy::kFunction) {
    if (record.name_id >= is_name_of_kernel_.size()) is_name_of_kernel_.resize(record.name_id + 1);
    if (!is_name_of_kernel_[record.name_id]) {
      is_name_of_kernel_[record.name_id] = true;
      sampler_.AddNameOf(group, record.name_id, counts_.launches - 1);
    }
  }
  return group;
}

void Engine::LeaveOut(const shm::KernelRecord& record, std::uint64_t name_hash) {
  // The live gate is not asked about launches outside of the selected ranges and steps.
  if (local_gate_ || (record.flags & shm::kFlagOutside) != 0) return;
  counts_.excluded_captured += (record.flags & shm::kFlagCaptured) != 0;
  // A gate that does not know a kernel captures its first launch. From now on it knows this one.
  sampler_.Exclude(name_hash);
}

bool Engine::Push(const shm::KernelRecord& record, std::uint16_t process, const NamedMark& mark) {
  const bool perturbed = perturbed_ && perturbed_->Add(record, process);
  const bool fits =
      perturbed ? time_.AddPerturbed(record.duration_ns) : time_.Add(record.duration_ns);
  if (!fits) {
    Skip(record, process);
    return false;
  }
  const std::uint64_t name_hash = sampler_.names().hash(record.name_id);
  const std::uint64_t index = counts_.launches++;
  counts_.graph_launches += (record.flags & shm::kFlagGraph) != 0;
  std::uint64_t occurrence = 0;
  if (!IsExcluded(record.name_id)) {
    occurrence = occurrences_.Next(record.name_id, sampler_.names());
  }
  const shm::LaunchKeys keys = tracker_.Next(record, name_hash, process);
  const std::uint32_t kernel = KernelOf(record);
  if (kernel == model::kExcludedKernel) {
    LeaveOut(record, name_hash);
    return true;
  }

  online::Observation& launch = queue_.Add();
  launch.record = record;
  launch.record.name_id = kernel;
  launch.record.flags &= shm::kFlagCaptured | shm::kFlagExploratory;  // of a live gate
  launch.index = index;
  launch.occurrence = occurrence;
  if (local_gate_) {
    local_gate_->Decide(keys, record.name_id, sampler_.names().name(record.name_id), index,
                        launch.record);
  }
  launch.config_key = keys.config;
  launch.history_key = keys.history;
  launch.node_key = keys.node;
  if ((launch.record.flags & shm::kFlagCaptured) != 0) {
    counts_.AddCapture(process);
    marks_.Add(index, mark);
  }
  if (perturbed) launch.record.flags |= shm::kFlagPerturbed;
  if (queue_.Due(counts_.launches)) RunEpoch();
  return true;
}

void Engine::Skip(const shm::KernelRecord& record, std::uint16_t process) {
  ++counts_.launches;
  tracker_.Next(record, sampler_.names().hash(record.name_id), process);
  occurrences_.Next(record.name_id, sampler_.names());
}

void Engine::Observe(std::span<const online::Observation> epoch, online::Publish publish,
                     online::OnlineSampler& sampler) const {
  sampler.Begin(epoch);
  pool_.ForEach(sampler.touched(), [&](std::size_t i) { sampler.UpdateKernel(i); });
  sampler.Commit(OnPool(pool_), publish);
}

void Engine::RunEpoch() {
  // An engine that asks the gate itself applies each decision to the next launch.
  const bool is_last = local_gate_ || at_hand_ < queue_.epoch();
  Observe(queue_.Next(), is_last ? online::Publish::kNow : online::Publish::kLater, sampler_);
  if (sampler_.allocated()) {
    for (EngineObserver* observer : observers_) observer->OnAllocation(sampler_.status());
  }
  ReportDecisions();
  queue_.Pop();
}

void Engine::ReportDecisions() {
  for (EngineObserver* observer : observers_) {
    observer->OnDecisions(sampler_.events(), sampler_.names(), marks_);
  }
}

void Engine::AddWarnings(std::vector<std::string>& warnings) const {
  if (local_gate_) local_gate_->AddWarning(warnings);
  if (const std::uint64_t refused = status().contexts_refused; refused != 0) {
    warnings.push_back(fmt::format(
        "the gate table was full: {} publications of launch contexts failed, so their launches are "
        "predicted less precisely, or not captured",
        refused));
  }
  if (const std::uint64_t refused = status().slots_refused; refused != 0) {
    warnings.push_back(
        fmt::format("the gate table had no free slot: {} requests for one failed, so launches of "
                    "their clusters are not captured",
                    refused));
  }
}

void Engine::Describe(const online::OnlineSampler& sampler, model::Overview& overview) const {
  sampler.Describe(overview);
  overview.excluded = excluded().invocations;
  overview.excluded_duration_ns = excluded().duration_ns;
}

model::Plan Engine::Finish() {
  sampler_.EndCaptures();
  while (!queue_.empty()) RunEpoch();
  model::Plan plan = sampler_.Finish(OnPool(pool_));
  Complete(plan);
  ReportDecisions();
  return plan;
}

void Engine::StartOver() {
  // A live gate has explored the kernels already, so captures by credit do not have to wait.
  sampler_.StartOver(local_gate_ ? lag_ : 0);
  if (local_gate_) local_gate_.emplace(gate_, options_.seed);
  groups_ = GroupsOf(options_);
  is_name_of_kernel_.clear();
  time_ = model::RunTime();
  counts_.unobserved = counts_.launches;
  counts_.graph_launches = 0;
  counts_.excluded_captured = 0;
  counts_.captured.clear();
  marks_ = CaptureMarks();
  queue_ = EpochQueue(lag_);
}

Engine::Ended Engine::EndNow(EngineObserver& observer) const {
  Ended ended = {sampler_, {}};
  online::OnlineSampler& sampler = ended.sampler;
  sampler.SetDirector(nullptr);  // the run goes on
  const auto report = [&] { observer.OnDecisions(sampler.events(), sampler.names(), marks_); };
  sampler.EndCaptures();
  EpochQueue queue = queue_;
  for (; !queue.empty(); queue.Pop()) {
    Observe(queue.Next(), online::Publish::kNever, sampler);
    report();
  }
  ended.plan = sampler.Finish(OnPool(pool_));
  report();
  Complete(ended.plan);
  return ended;
}

void Engine::Complete(model::Plan& plan) const {
  plan.totals.graph_launches = counts_.graph_launches;
  plan.totals.unobserved_launches = counts_.unobserved;
  plan.totals.excluded_invocations = excluded().invocations;
  plan.totals.excluded_duration_ns = excluded().duration_ns;
  SetMarks(marks_, plan);
}

}  // namespace stemtap::session
