// SPDX-License-Identifier: Apache-2.0
#include "session/engine.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

namespace stemtap::session {
namespace {

model::KernelGroups GroupsOf(const sampling::SamplingOptions& options) {
  Result<model::KernelGroups> groups =
      model::KernelGroups::Create(options.group_by, options.exclude);
  return groups.ok() ? std::move(groups).value()
                     : model::KernelGroups::Create(options.group_by, "").value();
}

shm::LaunchConfig ConfigOf(const shm::KernelRecord& record) {
  return {{record.grid[0], record.grid[1], record.grid[2]},
          {record.block[0], record.block[1], record.block[2]}};
}

ParallelFor OnPool(WorkerPool& pool) {
  return [&pool](std::size_t count, const std::function<void(std::size_t)>& part) {
    pool.ForEach(count, part);
  };
}

}  // namespace

Engine::Engine(const sampling::SamplingOptions& options, shm::GateTable& gate, GateAsked asked,
               std::uint64_t lag, WorkerPool& pool, MaskWriter& mask, Captures captures)
    : asked_(asked),
      captures_(captures),
      lag_(lag),
      gate_(gate),
      draws_(options.seed),
      pool_(pool),
      mask_(mask),
      sampler_(options, gate, asked == GateAsked::kByEngine ? lag : kLiveObserveFirst,
               captures == Captures::kForReal),
      group_by_(options.group_by),
      groups_(GroupsOf(options)),
      epoch_(NextEpoch()) {}

std::uint64_t Engine::NextEpoch() const {
  return std::clamp(observed_ / kEpochShare, kFirstEpoch, kLastEpoch);
}

shm::LaunchHistory& Engine::HistoryOf(const shm::KernelRecord& record, std::uint16_t process) {
  const std::uint64_t stream_key =
      (std::uint64_t{process} << 48) | (std::uint64_t{record.device} << 32) | record.stream;
  if (stream_key != last_stream_key_ || last_history_ == nullptr) {
    if (histories_.size() >= kMostStreams) histories_.clear();
    last_stream_key_ = stream_key;
    last_history_ = &histories_[stream_key];
  }
  return *last_history_;
}

std::uint32_t Engine::KernelOf(const shm::KernelRecord& record) {
  const std::uint32_t group = groups_.Of(record, sampler_.names());
  if (group == model::kExcludedKernel || group < sampler_.kernels()) return group;
  const shm::LaunchConfig config = ConfigOf(record);
  return sampler_.AddKernel(record.name_id, group_by_ == model::GroupBy::kName ? nullptr : &config);
}

void Engine::LeaveOut(const shm::KernelRecord& record, std::uint64_t name_hash) {
  if (asked_ != GateAsked::kAtLaunch) return;
  excluded_captured_ += (record.flags & shm::kFlagCaptured) != 0;
  // A gate that does not know a kernel captures its first launch. From now on it knows this one.
  gate_.Publish(shm::NameKey(name_hash), shm::kClosedSlot);
}

bool Engine::Push(const shm::KernelRecord& record, std::uint16_t process) {
  const bool slowed = captures_ == Captures::kForReal && Slowed(record, process);
  const bool fits = slowed ? time_.AddPerturbed(record.duration_ns) : time_.Add(record.duration_ns);
  if (!fits) {
    Skip(record, process);
    return false;
  }
  const std::uint64_t name_hash = sampler_.names().hash(record.name_id);
  const std::uint64_t index = launches_++;
  graph_launches_ += (record.flags & shm::kFlagGraph) != 0;
  device_use_.Add(record, process);
  shm::LaunchHistory& history = HistoryOf(record, process);
  const shm::LaunchHistory before = history;
  // A live gate does not see the kernels of a graph launch, so they are not part of its histories.
  if (asked_ == GateAsked::kByEngine || record.graph_id == 0) {
    history = shm::Advance(history, name_hash);
  }
  const std::uint32_t kernel = KernelOf(record);
  if (kernel == model::kExcludedKernel) {
    LeaveOut(record, name_hash);
    return true;
  }

  if (record.name_id >= occurrences_.size()) occurrences_.resize(sampler_.names().size(), 0);
  pending_.emplace_back();
  online::Observation& launch = pending_.back();
  launch.record = record;
  launch.record.name_id = kernel;
  // Keep the decision of a live gate. If the engine asks the gate itself, it decides below.
  launch.record.flags &=
      asked_ == GateAsked::kAtLaunch ? shm::kFlagCaptured | shm::kFlagExploratory : 0;
  if (slowed) launch.record.flags |= shm::kFlagPerturbed;
  launch.index = index;
  launch.occurrence = occurrences_[record.name_id]++;
  launch.config_key = shm::ConfigKey(name_hash, ConfigOf(record));
  launch.history_key = shm::HistoryKey(launch.config_key, before);
  if (asked_ == GateAsked::kByEngine) AskGate(launch, record.name_id);
  if ((launch.record.flags & shm::kFlagCaptured) != 0) {
    if (process >= captured_.size()) captured_.resize(std::size_t{process} + 1, 0);
    ++captured_[process];
  }
  RunDueEpochs();
  return true;
}

// A launch on another stream shares the device with a concurrent captured launch. Launches made
// before the captured one have already been passed on.
bool Engine::Slowed(const shm::KernelRecord& record, std::uint16_t process) {
  const bool captured = (record.flags & shm::kFlagCaptured) != 0;
  // A start that overflows with the duration is damage.
  if (record.start_ns > shm::kUnknownTime - 1 - record.duration_ns) return captured;
  const std::uint64_t end_ns = record.start_ns + record.duration_ns;
  Interval& tracing = tracing_[std::uint32_t{process} << 16 | record.device];
  if (captured) {
    tracing = {record.start_ns, end_ns};
    return true;
  }
  return record.start_ns < tracing.end_ns && tracing.start_ns < end_ns;
}

void Engine::Skip(const shm::KernelRecord& record, std::uint16_t process) {
  ++launches_;
  if (asked_ == GateAsked::kByEngine || record.graph_id == 0) {
    shm::LaunchHistory& history = HistoryOf(record, process);
    history = shm::Advance(history, sampler_.names().hash(record.name_id));
  }
  if (record.name_id >= occurrences_.size()) occurrences_.resize(sampler_.names().size(), 0);
  ++occurrences_[record.name_id];
}

// An epoch is due when its last launch is more than `lag` launches old.
void Engine::RunDueEpochs() {
  if (pending_.size() - head_ >= epoch_ && launches_ - pending_[head_ + epoch_ - 1].index > lag_) {
    RunEpoch(epoch_);
  }
}

void Engine::AskGate(online::Observation& launch, std::uint32_t name_id) {
  shm::KernelRecord& record = launch.record;
  record.credit_slot = 0;
  if (name_id >= explored_.size()) explored_.resize(sampler_.names().size(), false);
  launch.node_key = online::NodeKey(launch.config_key, record);
  std::uint32_t slot = launch.node_key == 0 ? shm::kNoSlot : gate_.Find(launch.node_key);
  if (slot == shm::kNoSlot) {
    slot = shm::FindLaunch(gate_, launch.history_key, launch.config_key,
                           sampler_.names().hash(name_id));
  }
  if (slot == shm::kNoSlot) {
    // The table does not know the kernel yet. Its first launch is captured, so that a run shorter
    // than the feedback delay still has samples.
    if (explored_[name_id]) return;
    record.flags |= shm::kFlagCaptured | shm::kFlagExploratory;
  } else if (slot != shm::kClosedSlot &&
             gate_.TrySpend(slot, [&] { return draws_(launch.index); })) {
    record.flags |= shm::kFlagCaptured;
    record.credit_slot = static_cast<std::uint16_t>(slot);
  }
  if ((record.flags & shm::kFlagCaptured) != 0) explored_[name_id] = true;
}

void Engine::RunEpoch(std::size_t count) {
  sampler_.Begin(std::span<const online::Observation>(pending_).subspan(head_, count));
  pool_.ForEach(sampler_.touched(), [this](std::size_t i) { sampler_.UpdateKernel(i); });
  sampler_.Commit(OnPool(pool_));
  if (timeline_ != nullptr && sampler_.allocated()) timeline_->Add(sampler_.status());
  mask_.Write(sampler_.events(), sampler_.names());
  observed_ += count;
  epoch_ = NextEpoch();
  head_ += count;
  // The head is removed when it is half of the vector, so each launch moves at most once on
  // average.
  if (head_ * 2 >= pending_.size()) {
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
}

void Engine::Describe(model::Overview& overview) const {
  sampler_.Describe(overview);
  overview.excluded = excluded().invocations;
  overview.excluded_duration_ns = excluded().duration_ns;
}

model::Plan Engine::Finish() {
  while (head_ < pending_.size()) {
    RunEpoch(std::min<std::size_t>(pending_.size() - head_, epoch_));
  }
  model::Plan plan = sampler_.Finish(OnPool(pool_));
  plan.totals.graph_launches = graph_launches_;
  plan.totals.excluded_invocations = excluded().invocations;
  plan.totals.excluded_duration_ns = excluded().duration_ns;
  mask_.Write(sampler_.events(), sampler_.names());
  return plan;
}

}  // namespace stemtap::session
