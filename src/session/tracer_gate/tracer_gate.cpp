// SPDX-License-Identifier: Apache-2.0
#include "session/tracer_gate/tracer_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stemtap::session {
namespace {

// As many contexts as the gate table has; beyond it, the durations are cleared.
constexpr std::size_t kMaxContexts = shm::kGateContexts;

}  // namespace

Result<std::unique_ptr<TracerGate>> TracerGate::Open(const SessionOptions& options) {
  std::unique_ptr<Session> session = STEMTAP_TRY(Session::Open(SessionMode::kGate, options));
  std::unique_ptr<TracerGate> gate(new TracerGate(options, std::move(session)));
  STEMTAP_TRY(gate->session_->Begin(gate->engine_));
  return gate;
}

TracerGate::TracerGate(const SessionOptions& options, std::unique_ptr<Session> session)
    : options_(options),
      session_(std::move(session)),
      gate_(*table_, options_.sampling.seed),
      engine_(options_.sampling, *table_, GateAsked::kAtLaunch, 0, pool_) {}

TracerGate::Answer TracerGate::ShouldCapture(const TracerLaunch& launch) {
  const std::lock_guard lock(mutex_);
  Pending pending;
  shm::KernelRecord& record = pending.record;
  record = launch.record;
  record.duration_ns = 0;
  record.start_ns = shm::kUnknownTime;
  record.name_id = engine_.AddKernel(launch.name);
  const std::uint64_t name_hash = shm::NameHash(launch.name.data(), launch.name.size());
  pending.keys = tracker_.Next(record, name_hash);
  const std::uint64_t id = first_ + pending_.size();
  record.flags = 0;
  record.credit_slot = 0;
  if (!engine_.IsExcluded(record.name_id)) {
    gate_.Decide(pending.keys, record.name_id, launch.name, id, record);
  }
  pending_.push_back(pending);
  const Answer answer = {id, record.flags != 0};
  if (pending_.size() > kMaxPending) {
    DropOldest();
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
  gate_.Return(launch->record);
  Drain();
  return true;
}

bool TracerGate::Observe(std::uint64_t id, std::uint64_t duration_ns) {
  const std::lock_guard lock(mutex_);
  Pending* const found = Running(id);
  if (found == nullptr) return false;
  Pending& launch = *found;
  if (duration_ns > kMaxDuration) {
    counts_.implausible += duration_ns != kUnknownDuration;
    launch.state = State::kDurationUnknown;
  } else {
    launch.state = State::kKnown;
    launch.record.duration_ns = duration_ns;
    if (last_ns_.size() >= kMaxContexts) last_ns_.clear();
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
    const bool is_known = oldest.state == State::kKnown;
    if (Settle(oldest)) {
      counts_.imputed += !is_known;
      if (!engine_.Push(oldest.record)) ++counts_.over_limit;
      pending_.pop_front();
      ++first_;
    } else if (oldest.state == State::kAbandoned ||
               (oldest.state == State::kDurationUnknown && pending_.size() > kMaxExploreWait)) {
      DropOldest();
    } else {
      return;
    }
  }
}

void TracerGate::DropOldest() {
  if (pending_.front().state != State::kAbandoned) gate_.Return(pending_.front().record);
  engine_.Skip(pending_.front().record);
  pending_.pop_front();
  ++first_;
  ++counts_.dropped;
}

Result<model::Plan> TracerGate::Close() {
  const std::lock_guard lock(mutex_);
  while (!pending_.empty()) {
    Drain();
    if (!pending_.empty()) DropOldest();
  }
  model::Plan plan = engine_.Finish();
  plan.source = "tracer gate";
  plan.totals.dropped = counts_.dropped + counts_.over_limit;
  SessionResult result = session_->Draft(std::move(plan), engine_.status());
  std::vector<std::string>& warnings = result.session.warnings;
  gate_.AddWarning(warnings);
  engine_.AddWarnings(warnings);
  if (counts_.imputed > 0) {
    warnings.push_back(
        fmt::format("{} launches had no duration; the latest one of their launch context is used",
                    counts_.imputed));
  }
  if (counts_.dropped > 0) {
    warnings.push_back(fmt::format(
        "{} launches were dropped because their durations never became known", counts_.dropped));
  }
  if (counts_.over_limit > 0) {
    warnings.push_back(fmt::format(
        "{} launches were dropped because the durations of the run exceed {} ns (292 years)",
        counts_.over_limit, model::RunTime::kMaxNs));
  }
  if (counts_.implausible > 0) {
    warnings.push_back(fmt::format("{} durations were longer than {} ns and are treated as unknown",
                                   counts_.implausible, kMaxDuration));
  }
  STEMTAP_TRY(session_->Finish(result));
  // Reported after everything else is written.
  if (result.session.counters.mask_events_missing != 0) return Error{result.incomplete.front()};
  return std::move(result.plan);
}

}  // namespace stemtap::session
