// SPDX-License-Identifier: Apache-2.0
#include "session/tracer_gate/tracer_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stemtap::session {
namespace {

shm::LaunchConfig ConfigOf(const shm::KernelRecord& record) {
  return {{record.grid[0], record.grid[1], record.grid[2]},
          {record.block[0], record.block[1], record.block[2]}};
}

// As many contexts as the gate table has; beyond it, the durations are cleared.
constexpr std::size_t kMostContexts = shm::kGateContexts;

}  // namespace

Result<std::unique_ptr<TracerGate>> TracerGate::Open(const TracerGateOptions& options) {
  Result<std::unique_ptr<SessionBuilder>> session =
      SessionBuilder::Open({.mode = SessionMode::kGate,
                            .sampling = options.sampling,
                            .listed = options.listed,
                            .command = {},
                            .directory = options.folder});
  if (!session.ok()) return session.error();
  std::unique_ptr<TracerGate> gate(new TracerGate(options, std::move(session).value()));
  const Status begun = gate->session_->Begin(gate->engine_);
  if (!begun.ok()) return begun.error();
  return gate;
}

TracerGate::TracerGate(const TracerGateOptions& options, std::unique_ptr<SessionBuilder> session)
    : options_(options),
      session_(std::move(session)),
      draws_(options_.sampling.seed),
      engine_(options_.sampling, *table_, GateAsked::kAtLaunch, 0, pool_, session_->mask()) {}

TracerGate::Answer TracerGate::ShouldCapture(const TracerLaunch& launch) {
  const std::lock_guard lock(mutex_);
  Pending pending;
  shm::KernelRecord& record = pending.record;
  record = launch.record;
  record.flags = 0;
  record.credit_slot = 0;
  record.duration_ns = 0;
  record.start_ns = shm::kUnknownTime;
  record.name_id = engine_.AddKernel(launch.name);
  const std::uint64_t name_hash = shm::NameHash(launch.name.data(), launch.name.size());
  pending.config_key = shm::ConfigKey(name_hash, ConfigOf(record));
  // Same histories as in the engine (engine.cpp, Push): kernels of a graph are not part of a
  // history.
  shm::LaunchHistory& history = histories_[(std::uint64_t{record.device} << 32) | record.stream];
  pending.history_key = shm::HistoryKey(pending.config_key, history);
  if (record.graph_id == 0) history = shm::Advance(history, name_hash);

  const std::uint64_t id = first_ + pending_.size();
  const std::uint32_t slot =
      shm::FindLaunch(*table_, pending.history_key, pending.config_key, name_hash);
  if (record.name_id >= first_sights_.size()) first_sights_.resize(record.name_id + 1);
  FirstSight& first_sight = first_sights_[record.name_id];
  if (slot == shm::kNoSlot) {
    if (first_sight.pause == 0) {
      record.flags = shm::kFlagCaptured | shm::kFlagExploratory;
    } else if (first_sight.pause != kExplored) {
      --first_sight.pause;
    }
  } else if (slot != shm::kClosedSlot && table_->TrySpend(slot, [&] { return draws_(id); })) {
    record.flags = shm::kFlagCaptured;
    record.credit_slot = static_cast<std::uint16_t>(slot);
  }
  if (record.flags != 0) first_sight.pause = kExplored;
  pending_.push_back(pending);
  const Answer answer = {id, record.flags != 0};
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
  Refund(launch->record);
  Drain();
  return true;
}

void TracerGate::Refund(const shm::KernelRecord& record) {
  if (record.credit_slot != 0) table_->Refund(record.credit_slot);
  if ((record.flags & shm::kFlagExploratory) != 0) {
    FirstSight& first_sight = first_sights_[record.name_id];
    first_sight.last_pause = std::min(2 * first_sight.last_pause + 1, kExplored / 4);
    first_sight.pause = first_sight.last_pause;
  }
}

bool TracerGate::Observe(std::uint64_t id, std::uint64_t duration_ns) {
  const std::lock_guard lock(mutex_);
  Pending* const found = Running(id);
  if (found == nullptr) return false;
  Pending& launch = *found;
  if (duration_ns > kMostDuration) {
    absurd_ += duration_ns != kUnknownDuration;
    launch.state = State::kDurationUnknown;
  } else {
    launch.state = State::kKnown;
    launch.record.duration_ns = duration_ns;
    if (last_ns_.size() >= kMostContexts) last_ns_.clear();
    for (const std::uint64_t key : KeysOf(launch)) last_ns_[key] = duration_ns;
  }
  Drain();
  return true;
}

bool TracerGate::Settle(Pending& launch) const {
  if (launch.state == State::kDurationUnknown) {
    for (const std::uint64_t key : KeysOf(launch)) {
      const auto last = last_ns_.find(key);
      if (last == last_ns_.end()) continue;
      launch.record.duration_ns = last->second;
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
      if (!engine_.Push(oldest.record)) ++over_limit_;
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
  if (pending_.front().state != State::kAbandoned) Refund(pending_.front().record);
  engine_.Skip(pending_.front().record);
  pending_.pop_front();
  ++first_;
  ++given_up_;
}

Result<model::Plan> TracerGate::Close() {
  const std::lock_guard lock(mutex_);
  while (!pending_.empty()) {
    Drain();
    if (!pending_.empty()) GiveUpOldest();
  }
  model::Plan plan = engine_.Finish();
  plan.source = "tracer gate";
  plan.totals.dropped = given_up_ + over_limit_;
  // A mask that could not be written completely is reported after the plan is written.
  const Status mask = session_->CloseMask();
  SessionReport report = session_->Report();
  if (stood_in_ > 0) {
    report.warnings.push_back(fmt::format(
        "{} launches had no duration; the latest one of their launch context is used", stood_in_));
  }
  if (given_up_ > 0) {
    report.warnings.push_back(
        fmt::format("{} launches were given up, their durations never became known", given_up_));
  }
  if (over_limit_ > 0) {
    report.warnings.push_back(
        fmt::format("{} launches are dropped: the durations of the run exceed {} ns (292 years)",
                    over_limit_, model::RunTime::kMaxNs));
  }
  if (absurd_ > 0) {
    report.warnings.push_back(fmt::format(
        "{} durations were longer than {} ns and taken as unknown", absurd_, kMostDuration));
  }
  if (!mask.ok()) report.warnings.push_back(mask.error().message);
  const Status written = session_->Finish(report, plan);
  if (!written.ok()) return written.error();
  if (!mask.ok()) return mask.error();
  return plan;
}

}  // namespace stemtap::session
