// SPDX-License-Identifier: Apache-2.0
#include "session/live_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "session/launch_environment.h"
#include "shm/session_env.h"

namespace stemtap::session {
namespace {

// At other levels than gate, the program has no gate and captures nothing.
Captures CapturesOf(const LiveOptions& options) {
  const bool slowed =
      options.level == TraceLevel::kGate && options.actuator != "log" && !options.native_captures;
  return slowed ? Captures::kForReal : Captures::kNoted;
}

void LogEnd(const LiveOutcome& outcome) {
  const SessionReport& report = outcome.report;
  for (const std::string& warning : report.warnings) spdlog::warn("{}", EscapeForTerminal(warning));
  if (!outcome.failure.empty()) spdlog::error("{}", EscapeForTerminal(outcome.failure));
  spdlog::info("ended: {:.3f} s, exit {}, {} launches, {} dropped, {} captured", report.elapsed_s,
               report.exit_code, report.sampler.observed, outcome.plan.totals.dropped,
               report.sampler.captured);
}

}  // namespace

LiveRun::LiveRun(const LiveOptions& options, SessionBuilder& session, shm::GateTable& gate)
    : options_(options),
      session_(session),
      pool_(options.threads),
      engine_(options.sampling, gate,
              options.level == TraceLevel::kGate ? GateAsked::kAtLaunch : GateAsked::kByEngine, 0,
              pool_, CapturesOf(options)),
      processes_(session.directory(), engine_, options.share_captures),
      progress_(options.quiet) {}

// Adds to an overview what the engine does not know.
void LiveRun::Describe(model::Overview& overview) const {
  overview.level = NameOf(options_.level);
  overview.actuator = options_.actuator;
  const std::vector<ProcessReport> reports = processes_.Reports();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const ProcessReport& p = reports[i];
    overview.processes.push_back({p.pid, p.program, NameOf(p.state), p.reason, p.seen, p.kept,
                                  p.dropped(), engine_.captured_of(i)});
  }
  SetCounts(CountProcesses(reports), overview);
  overview.activity = processes_.activity();
}

// Updates what a user sees during the run: remarks, overview and progress line.
void LiveRun::ShowCourse() {
  // Remarks are printed at once, especially that recording has stopped.
  for (const std::string& remark : processes_.NewRemarks()) {
    progress_.Say(remark);
    spdlog::info("{}", EscapeForTerminal(remark));
  }
  if (session_.timeline().Due()) {
    session_.timeline().SetDropped(CountProcesses(processes_.Reports()).dropped);
    session_.timeline().Add(engine_.status());
  }
  session_.UpdateOverview();
  const auto now_ms = static_cast<std::int64_t>(session_.elapsed_s() * 1e3) + 1;
  if (!progress_.Due(now_ms)) return;
  const SessionCounts counts = CountProcesses(processes_.Reports());
  progress_.Update(engine_.status(), counts.seen, counts.dropped, now_ms);
}

void LiveRun::Watch(std::optional<ChildProcess>& child, SignalRelay& signals) {
  for (;;) {
    processes_.FindRings();
    const bool program_ended = child && child->Poll();
    const bool busy = processes_.Drain(false);
    ShowCourse();
    if (program_ended) break;
    const bool must_end = signals.Forward(child ? child->pid() : 0);
    if (!child) {
      const bool gone = ::kill(options_.attach_pid, 0) != 0 && errno == ESRCH;
      if (must_end || processes_.all_ended() || (gone && processes_.none_open())) break;
    }
    if (!busy) signals.Wait(kIdleMs);
  }
  engine_.EndCaptures();
  // Drains what the processes left in their rings. A finished ring frees its descriptor for a ring
  // that could not be opened so far.
  for (bool found = true; found;) {
    found = processes_.FindRings();
    processes_.DrainRest();
  }
  progress_.Clear();
}

// Returns the warning for a session that no process has joined. In quiet mode no summary reports
// it, so it is also the failure if the user can change it.
std::string LiveRun::WhyNoProcess(LiveOutcome& outcome) const {
  const std::string tool = WhyNotRecorded();
  if (!tool.empty()) return "nothing was recorded: " + tool;
  const char* other = options_.chain ? nullptr : OtherInjection(options_);
  if (other == nullptr) {
    return "no process initialized CUDA (cuInit); there was nothing to record";
  }
  const std::string why = fmt::format(
      "nothing was recorded: CUDA loads one library, and CUDA_INJECTION64_PATH "
      "is set to '{}'; --chain loads both",
      other);
  if (options_.quiet) outcome.failure = why;
  return why;
}

// Returns why no process recorded anything, or an empty string if one did. If one process was
// recorded, there is a plan.
std::string LiveRun::WhyAllDisabled(const std::vector<ProcessReport>& processes) const {
  const auto disabled = [](const ProcessReport& r) {
    return r.state == ProcessState::kDisabled && r.read == 0;
  };
  if (processes.empty() || !std::all_of(processes.begin(), processes.end(), disabled)) return {};
  return fmt::format("nothing was recorded: {}", EscapeForTerminal(processes.front().reason));
}

LiveOutcome LiveRun::Finish(const std::optional<ChildProcess>& child, const GateMemory& gate) {
  const double elapsed_s = session_.elapsed_s();
  LiveOutcome outcome;
  outcome.folder = session_.path();
  outcome.plan = engine_.Finish();
  outcome.plan.source = options_.command.empty()
                            ? fmt::format("pid {}", options_.attach_pid)
                            : fmt::format("{}", fmt::join(options_.command, " "));
  SessionReport& report = outcome.report;
  report = session_.Report();
  report.elapsed_s = elapsed_s;
  if (child) {
    report.exit_code = child->exit_code();
    report.signal = child->signal();
  }
  report.devices = processes_.devices();
  report.warnings = processes_.CloseAll();
  engine_.AddWarnings(report.warnings);
  report.processes = processes_.Reports();
  session_.directory().Remove(shm::kGateFileName);
  if (!processes_.any()) report.warnings.push_back(WhyNoProcess(outcome));
  // In quiet mode no summary reports this either.
  if (options_.quiet && processes_.any()) outcome.failure = WhyAllDisabled(report.processes);
  if (options_.quiet && outcome.failure.empty()) outcome.failure = processes_.WhyUnread();
  if (engine_.excluded_captured() != 0) {
    report.warnings.push_back(
        fmt::format("{} launches of excluded kernels were captured before the gate excluded them",
                    engine_.excluded_captured()));
  }
  if (processes_.refused_captures() != 0) {
    report.warnings.push_back(
        fmt::format("{} launches that processes reported as captured count as not captured: "
                    "stemtap had not requested their captures",
                    processes_.refused_captures()));
  }
  if (gate.lost()) {
    report.warnings.push_back(
        "gate.table was truncated by another process: no launch was captured afterwards");
  }
  const Status written = session_.Finish(report, outcome.plan);
  if (!written.ok()) outcome.failure = written.error().message;
  LogEnd(outcome);
  processes_.RemoveLeftovers();
  return outcome;
}

}  // namespace stemtap::session
