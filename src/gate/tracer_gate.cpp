// SPDX-License-Identifier: Apache-2.0
#include "gate/tracer_gate.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace stemtap {
namespace {

wire::LaunchConfig ConfigOf(const wire::KernelRecord& record) {
  return {{record.grid[0], record.grid[1], record.grid[2]},
          {record.block[0], record.block[1], record.block[2]}};
}

// As many contexts' means as the gate table has contexts; a program with more starts over.
constexpr std::size_t kMostMeans = wire::kGateContexts;

}  // namespace

Result<std::unique_ptr<TracerGate>> TracerGate::Open(const TracerGateOptions& options) {
  const Result<KernelGroups> groups =
      KernelGroups::Create(options.sampling.group_by, options.sampling.exclude);
  if (!groups.ok()) return groups.error();
  std::unique_ptr<SessionWriter> writer;
  MaskWriter mask;
  if (!options.folder.empty()) {
    Result<SessionWriter> made = SessionWriter::Create(options.folder, false);
    if (!made.ok()) return made.error();
    writer = std::make_unique<SessionWriter>(std::move(made).value());
    Result<MaskWriter> opened = MaskWriter::Open(writer->PathOf("mask.ndjson"));
    if (!opened.ok()) return opened.error();
    mask = std::move(opened).value();
  }
  return std::unique_ptr<TracerGate>(new TracerGate(options, std::move(writer), std::move(mask)));
}

TracerGate::TracerGate(const TracerGateOptions& options, std::unique_ptr<SessionWriter> writer,
                       MaskWriter mask)
    : options_(options),
      writer_(std::move(writer)),
      mask_(std::move(mask)),
      engine_(options_.sampling, *table_, GateAsked::kAtLaunch, 0, pool_, mask_) {}

TracerGate::Answer TracerGate::ShouldCapture(const TracerLaunch& launch) {
  const std::lock_guard lock(mutex_);
  Pending pending;
  wire::KernelRecord& record = pending.record;
  record = launch.record;
  record.flags = 0;
  record.credit_slot = 0;
  record.duration_ns = 0;
  record.start_ns = wire::kUnknownTime;
  record.name_id = engine_.AddKernel(launch.name);
  const std::uint64_t name_hash = wire::NameHash(launch.name.data(), launch.name.size());
  pending.config_key = wire::ConfigKey(name_hash, ConfigOf(record));
  // As the engine keeps them (engine.cpp, Push): a graph's kernels are no part of a history.
  wire::LaunchHistory& history = histories_[(std::uint64_t{record.device} << 32) | record.stream];
  const std::uint64_t history_key = wire::HistoryKey(pending.config_key, history);
  if (record.graph_id == 0) history = wire::Advance(history, name_hash);

  std::uint32_t slot = table_->Find(history_key);
  if (slot == wire::kNoSlot) slot = table_->Find(pending.config_key);
  if (slot == wire::kNoSlot) slot = table_->Find(wire::NameKey(name_hash));
  if (record.name_id >= explored_.size()) explored_.resize(record.name_id + 1, false);
  if (slot == wire::kNoSlot) {
    if (!explored_[record.name_id]) record.flags = wire::kFlagCaptured | wire::kFlagExploratory;
  } else if (slot != wire::kClosedSlot && table_->TrySpend(slot)) {
    record.flags = wire::kFlagCaptured;
    record.credit_slot = static_cast<std::uint16_t>(slot);
  }
  if (record.flags != 0) explored_[record.name_id] = true;
  pending_.push_back(pending);
  const Answer answer = {first_ + pending_.size() - 1, record.flags != 0};
  if (pending_.size() > kMostPending) {
    GiveUpOldest();
    Drain();
  }
  return answer;
}

TracerGate::Pending* TracerGate::Running(std::uint64_t id) {
  if (id < first_ || id - first_ >= pending_.size()) return nullptr;
  Pending& launch = pending_[id - first_];
  return launch.state == State::kRunning ? &launch : nullptr;
}

bool TracerGate::Abandon(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  Pending* const launch = Running(id);
  if (launch == nullptr) return false;
  launch->state = State::kAbandoned;
  wire::KernelRecord& record = launch->record;
  if (record.credit_slot != 0) table_->Refund(record.credit_slot);
  if ((record.flags & wire::kFlagExploratory) != 0) explored_[record.name_id] = false;
  Drain();
  return true;
}

bool TracerGate::Observe(std::uint64_t id, std::uint64_t duration_ns) {
  const std::lock_guard lock(mutex_);
  Pending* const found = Running(id);
  if (found == nullptr) return false;
  Pending& launch = *found;
  if (duration_ns == kUnknownDuration) {
    launch.state = State::kDurationUnknown;
  } else {
    launch.state = State::kKnown;
    launch.record.duration_ns = duration_ns;
    if (means_.size() >= kMostMeans) means_.clear();
    for (const std::uint64_t key : {launch.config_key, std::uint64_t{launch.record.name_id} + 1}) {
      Mean& mean = means_[key];
      mean.sum_ns += static_cast<double>(duration_ns);
      ++mean.count;
    }
  }
  Drain();
  return true;
}

bool TracerGate::Settle(Pending& launch) const {
  if (launch.state == State::kDurationUnknown) {
    for (const std::uint64_t key : {launch.config_key, std::uint64_t{launch.record.name_id} + 1}) {
      const auto mean = means_.find(key);
      if (mean == means_.end()) continue;
      launch.record.duration_ns = static_cast<std::uint64_t>(
          std::llround(mean->second.sum_ns / static_cast<double>(mean->second.count)));
      launch.state = State::kKnown;
      return true;
    }
  }
  return launch.state == State::kKnown;
}

void TracerGate::Drain() {
  while (!pending_.empty()) {
    Pending& oldest = pending_.front();
    const bool told = oldest.state == State::kKnown;
    if (Settle(oldest)) {
      stood_in_ += !told;
      engine_.Push(oldest.record);
      pending_.pop_front();
      ++first_;
    } else if (oldest.state == State::kAbandoned ||
               (oldest.state == State::kDurationUnknown && pending_.size() > kFirstSightWait)) {
      GiveUpOldest();
    } else {
      return;
    }
  }
}

void TracerGate::GiveUpOldest() {
  engine_.Skip(pending_.front().record);
  pending_.pop_front();
  ++first_;
  ++given_up_;
}

Result<Plan> TracerGate::Close() {
  const std::lock_guard lock(mutex_);
  while (!pending_.empty()) {
    Drain();
    if (!pending_.empty()) GiveUpOldest();
  }
  Plan plan = engine_.Finish();
  plan.source = "tracer gate";
  plan.options = options_.listed;
  const Status closed = mask_.Close();
  if (!closed.ok()) return closed.error();
  plan.totals.dropped = given_up_;
  if (writer_ == nullptr) return plan;
  SessionReport report;
  report.mode = "gate";
  report.options = options_.listed;
  report.sampler = engine_.status();
  if (stood_in_ > 0) {
    report.warnings.push_back(fmt::format(
        "{} captured launches have no duration of their own, the mean of their like stands in",
        stood_in_));
  }
  if (given_up_ > 0) {
    report.warnings.push_back(
        fmt::format("{} launches were given up, their durations never became known", given_up_));
  }
  const Status written = writer_->Finish(report, plan);
  if (!written.ok()) return written.error();
  return plan;
}

}  // namespace stemtap
