// SPDX-License-Identifier: Apache-2.0
#include "session/merge/merged_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/completeness.h"
#include "model/graph_launches.h"
#include "model/plan_summary.h"
#include "session/session_report.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

using model::RecordedSession;
using C = model::SessionCounters;

constexpr std::uint64_t C::*kCounters[] = {&C::seen,
                                           &C::kept,
                                           &C::dropped,
                                           &C::gaps,
                                           &C::paused,
                                           &C::captured,
                                           &C::captured_duration_ns,
                                           &C::zero_duration,
                                           &C::slowed,
                                           &C::slowed_beside,
                                           &C::native_unknown,
                                           &C::contexts_refused,
                                           &C::slots_refused,
                                           &C::mask_events_missing};

// Returns false if a sum overflows.
bool AddCounters(const model::SessionCounters& more, model::SessionCounters& sum) {
  bool overflows = false;
  for (const auto counter : kCounters) {
    overflows |= __builtin_add_overflow(sum.*counter, more.*counter, &(sum.*counter));
  }
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
    overflows |= __builtin_add_overflow(sum.losses[i], more.losses[i], &sum.losses[i]);
  }
  return !overflows;
}

// Sets `common` to the value that all sessions share, or clears it if they differ.
template <typename Value, typename Of>
void SetCommon(std::span<const model::OriginalSession> sessions, const Of& of, Value& common) {
  common = of(sessions.front());
  for (const model::OriginalSession& session : sessions) {
    if (of(session) != common) common = {};
  }
}

// Returns one host entry: the common values, and the names of all hosts.
model::SessionHost CommonHost(std::span<const model::OriginalSession> sessions) {
  model::SessionHost host;
  std::vector<std::string> names;
  for (const model::OriginalSession& session : sessions) {
    const std::string& name = session.host.name;
    const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
    if (is_new && !name.empty()) names.push_back(name);
  }
  host.name = fmt::format("{}", fmt::join(names, ", "));
  using O = model::OriginalSession;
  SetCommon(
      sessions, [](const O& own) { return own.host.system; }, host.system);
  SetCommon(
      sessions, [](const O& own) { return own.host.machine; }, host.machine);
  SetCommon(
      sessions, [](const O& own) { return own.host.cores; }, host.cores);
  return host;
}

// Appends processes or devices, each with the number of its session.
template <typename Item>
void AppendItems(const std::vector<Item>& from, std::size_t first, std::vector<Item>& into) {
  for (const Item& item : from) {
    into.push_back(item);
    into.back().session = first + (item.session == model::kNoSession ? 0 : item.session);
  }
}

// Appends the sessions of `part`: itself, or those it was merged from.
void AppendSessions(const SessionPart& part, std::vector<model::OriginalSession>& sessions) {
  if (part.session.sessions.empty()) {
    sessions.push_back({part.session, "", ""});
  } else {
    sessions.insert(sessions.end(), part.session.sessions.begin(), part.session.sessions.end());
  }
}

// "error bound 4.52 %", and the certified bound if the observed error exceeds it.
std::string BoundOf(const model::PlanSession& session) {
  if (std::isnan(session.bound)) return "no error bound";
  std::string text = fmt::format("error bound {:.2f} %", 100 * session.bound);
  if (model::ExceedsCertifiedBound(session.bound, session.certified_bound)) {
    text += fmt::format(" (the observed error; it exceeds the certified bound, {:.2f} %)",
                        100 * session.certified_bound);
  }
  return text;
}

// "session 0: node7, stemtap-python3-12: 816000 launches, 3644.973 ms, error bound 4.52 %"
std::string SessionLine(std::size_t number, const model::PlanSession& session,
                        const model::OriginalSession& own) {
  std::string line = fmt::format("session {}: {}, {}: ", number, EscapeForTerminal(session.host),
                                 EscapeForTerminal(session.folder));
  if (session.launches == 0) {
    line += "no kernel was recorded";
  } else {
    line += fmt::format("{}, {:.3f} ms, {}", Plural(session.launches, "launch", "launches"),
                        static_cast<double>(session.duration_ns) * 1e-6, BoundOf(session));
  }
  if (own.counters.dropped != 0) line += fmt::format(", {} dropped", own.counters.dropped);
  if (own.counters.gaps != 0) line += ", " + Plural(own.counters.gaps, "gap");
  if (own.signal != 0) {
    line += fmt::format(", ended by signal {}", own.signal);
  } else if (own.exit_code != 0) {
    line += fmt::format(", exit code {}", own.exit_code);
  }
  return line + "\n";
}

// Returns what a process reported and whether launches may be missing; empty if neither applies.
std::string ProcessLine(const model::ProcessReport& process) {
  const std::string reason = EscapeForTerminal(process.reason);
  std::string text =
      process.state == ProcessState::kDisabled ? "nothing was recorded: " + reason : reason;
  if (process.state == ProcessState::kRecording) {
    text += text.empty() ? "" : "; ";
    text += "did not shut down cleanly; launches after its last flush may be missing";
  }
  if (text.empty()) return {};
  return fmt::format("process {} ({}) of session {}: {}\n", process.pid,
                     EscapeForTerminal(process.program), process.session, text);
}

}  // namespace

Result<RecordedSession> MergedSession(std::span<const SessionPart> parts, const model::Plan& plan) {
  RecordedSession merged;
  merged.tool = fmt::format("stemtap {}", kVersion);
  merged.mode = NameOf(SessionMode::kMerged);
  for (const SessionPart& part : parts) {
    const std::size_t first = merged.sessions.size();
    const model::PlanSession& at = plan.sessions[first];
    if (!AddCounters(part.session.counters, merged.counters)) {
      return Error{
          fmt::format("{}: the summed counters of the sessions exceed 64 bits", part.path)};
    }
    AppendItems(part.session.processes, first, merged.processes);
    const std::size_t first_device = merged.devices.size();
    AppendItems(part.session.devices, first, merged.devices);
    for (model::DeviceTotals& device : std::span(merged.devices).subspan(first_device)) {
      if (device.device == shm::kUnknown16) continue;
      device.device = static_cast<std::uint16_t>(device.device + at.first_device);
    }
    for (const std::string& warning : part.session.warnings) {
      merged.warnings.push_back(part.session.sessions.empty() ? at.folder + ": " + warning
                                                              : warning);
    }
    AppendSessions(part, merged.sessions);
  }
  merged.completeness = model::CompletenessLine(merged.processes);
  SetCommon(
      std::span(std::as_const(merged.sessions)), [](const auto& own) { return own.command; },
      merged.command);
  merged.options = plan.options;
  merged.host = CommonHost(merged.sessions);
  for (std::size_t i = 0; i < merged.sessions.size(); ++i) {
    model::OriginalSession& own = merged.sessions[i];
    merged.elapsed_s = std::fmax(merged.elapsed_s, own.elapsed_s);
    if (merged.exit_code == 0) merged.exit_code = own.exit_code;
    if (merged.signal == 0) merged.signal = own.signal;
    own.id = plan.sessions[i].id;
    own.folder = plan.sessions[i].folder;
  }
  return merged;
}

std::string MergedSummary(const model::Plan& plan, const RecordedSession& session) {
  std::string text = plan.totals.invocations == 0 ? std::string("no kernel was recorded\n")
                                                  : model::PlanSummary(plan);
  for (std::size_t i = 0; i < plan.sessions.size(); ++i) {
    text += SessionLine(i, plan.sessions[i], session.sessions[i]);
  }
  if (!session.completeness.empty()) text += EscapeForTerminal(session.completeness) + "\n";
  const std::string graphs = model::GraphLaunchesLine(session.processes, session.devices);
  if (!graphs.empty()) text += graphs + "\n";
  for (const model::ProcessReport& process : session.processes) text += ProcessLine(process);
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
    const std::uint64_t count = session.counters.losses[i];
    if (count != 0) text += fmt::format("{} {}\n", count, shm::kLossNames[i]);
  }
  for (const std::string& warning : session.warnings) {
    text += "warning: " + EscapeForTerminal(warning) + "\n";
  }
  return text;
}

}  // namespace stemtap::session
