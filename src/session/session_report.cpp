// SPDX-License-Identifier: Apache-2.0
#include "session/session_report.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <thread>

#include "model/completeness.h"
#include "online/overview_parts.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

// Returns the counts that session.json and the last overview share.
SessionCounts CountSession(const SessionReport& report, const model::Plan& plan) {
  SessionCounts counts = CountProcesses(report.processes);
  counts.kept = report.sampler.observed + plan.totals.excluded_invocations;
  counts.dropped = plan.totals.dropped;
  if (report.processes.empty()) counts.seen = counts.kept + counts.dropped;
  return counts;
}

model::SessionHost ThisHost() {
  utsname host{};
  uname(&host);
  return {host.nodename, fmt::format("{} {}", host.sysname, host.release), host.machine,
          std::thread::hardware_concurrency()};
}

model::SessionCounters Counters(const SessionReport& report, const model::Plan& plan) {
  const online::SamplerStatus& s = report.sampler;
  model::SessionCounters counters = {CountSession(report, plan)};
  counters.gaps = plan.totals.gaps;
  counters.captured = s.captured;
  counters.captured_duration_ns = s.captured_duration_ns;
  counters.zero_duration = s.zero_duration;
  counters.slowed = s.perturbed;
  counters.slowed_beside = s.perturbed_uncaptured;
  counters.native_unknown = plan.totals.native_unknown;
  counters.contexts_refused = s.contexts_refused;
  counters.slots_refused = s.slots_refused;
  counters.mask_events_missing = report.mask_events_missing;
  return counters;
}

}  // namespace

void AddProcess(const ProcessReport& process, ProcessReport& sum) {
  using P = ProcessReport;
  for (const auto count :
       {&P::seen, &P::kept, &P::skipped, &P::read, &P::late, &P::malformed, &P::launches_gated,
        &P::launches_captured, &P::launches_failed, &P::launches_added, &P::graph_records,
        &P::paused, &P::buffers, &P::cost_program_ns, &P::cost_background_ns, &P::cost_cupti_ns}) {
    sum.*count += process.*count;
  }
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) sum.losses[i] += process.losses[i];
  if (process.state == ProcessState::kRecording || sum.state == ProcessState::kDisabled) {
    sum.state = process.state;
    sum.reason = process.state == ProcessState::kDisabled ? process.reason : "";
  }
}

SessionCounts CountProcesses(std::span<const ProcessReport> processes) {
  SessionCounts counts;
  for (const ProcessReport& p : processes) {
    counts.seen += p.seen;
    counts.kept += p.kept - std::min(p.kept, p.malformed);
    counts.dropped += p.dropped();
    counts.gaps += p.gaps();
    counts.paused += p.paused;
    for (std::uint32_t i = 0; i < shm::kLossCount; ++i) counts.losses[i] += p.losses[i];
  }
  return counts;
}

void AddLosses(const SessionReport& report, model::Plan& plan) {
  for (const ProcessReport& p : report.processes) {
    plan.totals.dropped += p.dropped();
    plan.totals.gaps += p.gaps();
  }
}

void SetCounts(const SessionCounts& counts, model::Overview& overview) {
  overview.tool = fmt::format("stemtap {}", kVersion);
  overview.seen = counts.seen;
  overview.kept = counts.kept;
  overview.dropped = counts.dropped;
  overview.gaps = counts.gaps;
  overview.losses.clear();
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
    if (counts.losses[i] != 0) overview.losses.emplace_back(shm::kLossNames[i], counts.losses[i]);
  }
}

void EndOverview(const SessionReport& report, const model::Plan& plan, model::Overview& overview) {
  SetCounts(CountSession(report, plan), overview);
  overview.ended = true;
  overview.elapsed_s = report.elapsed_s;
  online::TakeClusters(plan, overview);
}

std::string SessionToJson(const SessionReport& report, const model::Plan& plan) {
  model::RecordedSession session;
  session.tool = fmt::format("stemtap {}", kVersion);
  session.mode = NameOf(report.mode);
  session.command = report.command;
  session.options = report.options;
  session.host = ThisHost();
  session.elapsed_s = report.elapsed_s;
  session.exit_code = report.exit_code;
  session.signal = report.signal;
  session.counters = Counters(report, plan);
  session.completeness = model::CompletenessLine(report.processes);
  session.processes = report.processes;
  session.devices = report.devices;
  for (DeviceTotals& device : session.devices) {
    if (device.process < report.processes.size()) device.pid = report.processes[device.process].pid;
  }
  session.warnings = report.warnings;
  return model::SessionToJson(session);
}

}  // namespace stemtap::session
