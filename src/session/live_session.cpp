// SPDX-License-Identifier: Apache-2.0
#include "session/live_session.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/text.h"
#include "session/child_process.h"
#include "session/gate_memory.h"
#include "session/launch_environment.h"
#include "session/progress.h"
#include "session/session_builder.h"
#include "session/signal_relay.h"
#include "session/traced_processes.h"
#include "shm/session_env.h"

namespace stemtap::session {
namespace {

// Sleep time of the loop when all rings are empty, and so the maximum delay for new rings and
// records. 50 wake-ups per second have no measurable cost.
constexpr int kIdleMs = 20;

// At other levels than gate, the program has no gate and captures nothing.
Captures CapturesOf(const LiveOptions& options) {
  const bool slowed =
      options.level == TraceLevel::kGate && options.actuator != "log" && !options.native_captures;
  return slowed ? Captures::kForReal : Captures::kNoted;
}

// LiveRun collects the launches of one live session.
class LiveRun {
 public:
  LiveRun(const LiveOptions& options, SessionBuilder& session, shm::GateTable& gate)
      : options_(options),
        session_(session),
        pool_(options.threads),
        engine_(options.sampling, gate,
                options.level == TraceLevel::kGate ? GateAsked::kAtLaunch : GateAsked::kByEngine, 0,
                pool_, session.mask(), CapturesOf(options)),
        processes_(session.directory(), engine_, options.share_captures),
        progress_(options.quiet) {}

  Status Begin() {
    return session_.Begin(engine_, [this](model::Overview& o) { Describe(o); });
  }

  // Collects until the program, or every process that joined, has ended.
  void Watch(std::optional<ChildProcess>& child, SignalRelay& signals);
  // Ends the engine and writes the session's files.
  LiveOutcome Finish(const std::optional<ChildProcess>& child, const GateMemory& gate);

 private:
  void ShowCourse();
  void Describe(model::Overview& overview) const;
  std::string WhyNoProcess(LiveOutcome& outcome) const;
  std::string WhyAllDisabled(const std::vector<ProcessReport>& processes) const;

  const LiveOptions& options_;
  SessionBuilder& session_;
  WorkerPool pool_;
  Engine engine_;
  TracedProcesses processes_;
  ProgressLine progress_;
};

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
}

// Updates what a user sees during the run: remarks, overview and progress line.
void LiveRun::ShowCourse() {
  // Remarks are printed at once, especially that recording has stopped.
  for (const std::string& remark : processes_.NewRemarks()) progress_.Say(remark);
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
  // Drains what the processes left in their rings. Rings of live processes (daemons) are read as
  // they are. A finished ring frees its descriptor for a ring that could not be opened so far.
  for (bool found = true; found;) {
    found = processes_.FindRings();
    while (processes_.Drain(true)) {
    }
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
  report.devices = engine_.devices();
  report.warnings = processes_.CloseAll();
  report.processes = processes_.Reports();
  session_.directory().Remove(shm::kGateFileName);
  if (!processes_.any()) report.warnings.push_back(WhyNoProcess(outcome));
  // In quiet mode no summary reports this either.
  if (options_.quiet && processes_.any()) outcome.failure = WhyAllDisabled(report.processes);
  if (engine_.excluded_captured() != 0) {
    report.warnings.push_back(
        fmt::format("{} launches of excluded kernels were captured before the gate excluded them",
                    engine_.excluded_captured()));
  }
  if (gate.lost()) {
    report.warnings.push_back(
        "gate.table was truncated by another process: no launch was captured afterwards");
  }
  const Status mask = session_.CloseMask();
  if (!mask.ok()) report.warnings.push_back(mask.error().message);
  // The last overview may reuse the mask's descriptor, if there are few.
  const Status written = session_.Finish(report, outcome.plan);
  if (!written.ok()) outcome.failure = written.error().message;
  processes_.RemoveLeftovers();
  return outcome;
}

// Waits for the end of the program and does nothing else. Allocates no memory.
void AwaitEnd(ChildProcess& child, SignalRelay& signals) {
  while (!child.Poll()) {
    signals.Wait(kIdleMs);
    signals.Forward(child.pid());
  }
}

// Collects and writes the session. If memory runs out, frees what it used and waits for the
// program.
LiveOutcome Collect(std::optional<LiveRun>& run, const GateMemory& gate,
                    std::optional<ChildProcess>& child, SignalRelay& signals) {
  try {
    run->Watch(child, signals);
    return run->Finish(child, gate);
  } catch (const std::exception& trouble) {
    run.reset();
    LiveOutcome outcome;
    outcome.gave_up = true;
    if (dynamic_cast<const std::bad_alloc*>(&trouble) != nullptr) {
      outcome.failure = "out of memory";  // short enough to be stored without allocation
    } else {
      outcome.failure = trouble.what();
    }
    if (child) AwaitEnd(*child, signals);
    if (child) outcome.report.exit_code = child->exit_code();
    return outcome;
  }
}

// Removes the ring of the process that started this collector, if the session cannot begin: nothing
// else would read it, and it takes 16 MiB. Uses the path, because the directory may not be open.
// Does nothing if another collector has claimed the directory.
void RemoveWaitingRing(const LiveOptions& options) {
  if (::access((options.folder + "/" + shm::kMaskFileName).c_str(), F_OK) == 0) return;
  const std::string ring =
      fmt::format("{}/{}{}", options.folder, shm::kRingPrefix, options.attach_pid);
  ::unlink(ring.c_str());
  ::rmdir(options.folder.c_str());
}

Result<std::unique_ptr<SessionBuilder>> OpenSession(const LiveOptions& options) {
  const bool attach = options.command.empty();
  return SessionBuilder::Open({.mode = SessionMode::kLive,
                               .sampling = options.sampling,
                               .listed = options.listed,
                               .command = options.command,
                               .directory = options.folder,
                               .place = attach                   ? SessionPlace::kExisting
                                        : options.default_folder ? SessionPlace::kDefault
                                                                 : SessionPlace::kNamed});
}

Result<ChildProcess> StartProgram(const LiveOptions& options, const SessionBuilder& session,
                                  const SignalRelay& signals, const sigset_t& defaults) {
  // Printed now, because the program may run long and quiet mode has no summary.
  const std::string why_not = WhyNotRecorded();
  if (!why_not.empty()) {
    std::fputs(fmt::format("stemtap: warning: nothing will be recorded: {}\n", why_not).c_str(),
               stderr);
  }
  char* absolute = ::realpath(session.path().c_str(), nullptr);
  const std::string directory = absolute != nullptr ? absolute : options.folder;
  ::free(absolute);
  return ChildProcess::Start(options.command, ProgramEnvironment(options, directory),
                             signals.before(), defaults);
}

}  // namespace

TraceLevel TraceLevelNamed(std::string_view name) {
  return static_cast<TraceLevel>(std::ranges::find(kTraceLevelNames, name) -
                                 std::begin(kTraceLevelNames));
}

Result<LiveOutcome> RunLive(const LiveOptions& options) {
  // A reader of our stderr that exits, or the file size limit, must not end the session and lose
  // the program's exit code. A SIGCHLD that our parent ignores would lose that code too.
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    if (::signal(signal, SIG_IGN) == SIG_DFL) sigaddset(&defaults, signal);
  }
  ::signal(SIGCHLD, SIG_DFL);
  SignalRelay signals;  // before the pool's threads start

  const bool attach = options.command.empty();
  Result<std::unique_ptr<SessionBuilder>> opened = OpenSession(options);
  if (!opened.ok()) {
    if (attach) RemoveWaitingRing(options);
    return opened.error();
  }
  SessionBuilder& session = *opened.value();
  Result<GateMemory> gate =
      options.level == TraceLevel::kGate
          ? GateMemory::CreateIn(session.directory(),
                                 options.share_captures ? 0 : shm::kGateByProcess,
                                 options.sampling.seed)
          : GateMemory::Private();
  if (!gate.ok()) {
    session.Discard();
    return gate.error();
  }
  std::optional<LiveRun> run;
  run.emplace(options, session, gate.value().table());
  const Status begun = run->Begin();
  if (!begun.ok()) return begun.error();
  std::optional<ChildProcess> child;
  if (!attach) {
    Result<ChildProcess> started = StartProgram(options, session, signals, defaults);
    if (!started.ok()) {
      session.Discard();
      return started.error();
    }
    child = std::move(started).value();
  }
  return Collect(run, gate.value(), child, signals);
}

}  // namespace stemtap::session
