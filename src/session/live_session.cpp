// SPDX-License-Identifier: Apache-2.0
#include "session/live_session.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <time.h>
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
#include <string>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/result.h"
#include "base/text.h"
#include "base/worker_pool.h"
#include "model/completeness.h"
#include "model/session_files.h"
#include "session/bound_watch.h"
#include "session/checkpoint.h"
#include "session/child_process.h"
#include "session/control.h"
#include "session/engine.h"
#include "session/gate_memory.h"
#include "session/launch_environment.h"
#include "session/metrics.h"
#include "session/metrics_server.h"
#include "session/progress.h"
#include "session/session.h"
#include "session/session_log.h"
#include "session/signal_relay.h"
#include "session/traced_processes.h"
#include "shm/session_env.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

// Sleep time of the loop when all rings are empty, and so the maximum delay for new rings and
// records. 50 wake-ups per second have no measurable cost.
constexpr int kIdleMs = 20;

// Windows that could not be written and are listed in the warnings.
constexpr std::size_t kMaxWindowProblems = 16;

// Checkpoints renew the counters of metrics three times a second, which would make the text more
// often than it is scraped. Less than the period of overview.json, so that each of these makes it.
constexpr std::chrono::milliseconds kMetricsPeriod{900};

// Signals that the collector ignores, and programs that it starts do not.
constexpr int kIgnoredSignals[] = {SIGPIPE, SIGXFSZ};

sigset_t IgnoredSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kIgnoredSignals) sigaddset(&signals, signal);
  return signals;
}

// LiveRun runs the loop of a live session: it passes the launches of the traced processes to the
// engine until the program has ended, and then writes the session's files. MEMBERS: the steps of
// the loop, and what of the run the user and the control socket know.
class LiveRun {
 public:
  // All referenced objects must outlive the run. `metrics` may be null.
  LiveRun(const LiveOptions& options, Session& session, shm::GateTable& gate,
          MetricsServer* metrics);

  // Opens the mask and the control socket. On failure, the session is discarded. A session without
  // a socket goes on, with a warning.
  Status Begin();

  // Collects until the program, or every process that joined, has ended.
  void Watch(std::optional<ChildProcess>& child, SignalRelay& signals);
  // Ends the engine and writes the session's files.
  SessionResult Finish(const std::optional<ChildProcess>& child, const GateMemory& gate);

 private:
  void UpdateDisplay();
  void FollowSchedule();
  void Describe(model::Overview& overview) const;
  void ServeMetrics(const model::Overview& overview);
  // Adds what the processes and the engine report to the result.
  // `whole`: of all windows of the run.
  void AddReports(SessionResult& outcome, std::vector<ProcessReport> whole) const;
  void AddReports(SessionResult& outcome) const { AddReports(outcome, processes_.WholeReports()); }
  // Answers a request of session/control.h.
  Result<std::string> Answer(std::string_view request);
  Result<std::string> Snapshot(std::string_view request) const;
  // Starts or stops the recording of the process whose id is in `pid`, or of all if it is empty.
  Result<std::string> Switch(bool on, std::string_view pid);
  std::string StateOfRecording() const;
  // Ends a window in seconds if it is due.
  void UpdateWindow();
  void EndWindow();
  // Acts if the error bound is met and has stayed met.
  void UpdateBound(const SignalRelay& signals);
  void ActOnBound(const SignalRelay& signals);
  bool has_windows() const {
    return !options_.window.empty() || options_.at_bound == BoundAction::kWindow;
  }
  // Writes a checkpoint if one is due.
  void UpdateCheckpoint();
  double run_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  std::string WhyNoProcess(SessionResult& outcome) const;
  std::string WhyAllDisabled(const std::vector<ProcessReport>& processes) const;

  const LiveOptions& options_;
  Session& session_;
  WorkerPool pool_;
  Engine engine_;
  RecordingSchedule schedule_;
  TracedProcesses processes_;
  ProgressLine progress_;
  shm::Recording said_ = shm::Recording::kOn;  // what the user knows
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  struct Windows {
    std::uint32_t ended = 0;
    // In windows that have ended, how often the number of launches is not known.
    std::uint64_t uncounted = 0;
    std::vector<std::string> problems;
    std::uint64_t more_problems = 0;  // that `problems` does not list
  };
  Windows windows_;
  BoundWatch bound_;
  bool has_acted_ = false;              // on the bound, in this window
  std::vector<ChildProcess> commands_;  // of BoundAction::kCommand
  CheckpointClock checkpoint_;
  std::uint64_t checkpoint_seen_ = 0;  // launches in the last checkpoint
  bool is_ended_ = false;
  std::optional<ControlServer> control_;
  std::string why_no_control_;
  MetricsServer* metrics_server_;  // null: none
  RunMetrics metrics_;
  std::chrono::steady_clock::time_point metrics_due_ = {};  // of the next text
};

void LogEnd(const SessionResult& outcome) {
  const model::RecordedSession& session = outcome.session;
  for (const std::string& warning : session.warnings) {
    spdlog::warn("{}", EscapeForTerminal(warning));
  }
  if (!outcome.failure.empty()) spdlog::error("{}", EscapeForTerminal(outcome.failure));
  spdlog::info("ended: {:.3f} s, exit {}, {} launches, {} dropped, {} captured", session.elapsed_s,
               session.exit_code, outcome.sampler.observed, outcome.plan.totals.dropped,
               outcome.sampler.captured);
}

LiveRun::LiveRun(const LiveOptions& options, Session& session, shm::GateTable& gate,
                 MetricsServer* metrics)
    : options_(options),
      session_(session),
      pool_(options.threads),
      engine_(options.sampling, gate,
              options.level == TraceLevel::kGate ? GateAsked::kAtLaunch : GateAsked::kByEngine, 0,
              pool_, CapturesOf(options)),
      schedule_(options.recording),
      processes_(session.directory(), engine_, schedule_, options.share_captures),
      progress_(options.quiet),
      bound_(options.sampling.error_bound),
      metrics_server_(metrics) {
  if (options.director) engine_.SetDirector(options.director());
}

Status LiveRun::Begin() {
  processes_.SetWindow(options_.window.launches, [this] { EndWindow(); });
  engine_.AddObserver(bound_);
  STEMTAP_TRY(session_.Begin(engine_, [this](model::Overview& o) {
    Describe(o);
    ServeMetrics(o);
  }));
  Result<ControlServer> control = ControlServer::Open(session_.directory());
  if (control.ok()) {
    control_.emplace(std::move(control).value());
  } else {
    why_no_control_ = control.error().message;
  }
  return Success{};
}

// Adds to an overview what the engine does not know.
void LiveRun::Describe(model::Overview& overview) const {
  overview.level = NameOf(options_.level);
  overview.actuator = options_.actuator;
  if (schedule_.wanted() != shm::Recording::kOn) overview.recording = NameOf(schedule_.wanted());
  overview.window = has_windows() ? windows_.ended + 1 : 0;
  overview.has_stayed_bound = bound_.is_reached();
  processes_.Describe(overview);
}

// Renews the metrics whenever an overview is made: for overview.json, checkpoints and snapshots,
// and when a window or the run ends.
void LiveRun::ServeMetrics(const model::Overview& overview) {
  if (metrics_server_ == nullptr) return;
  timespec cpu = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const LiveFigures figures = {
      .overview = overview,
      .devices = processes_.devices(),
      .processes = processes_.WholeReports(),
      .counted = processes_.all_counted(),
      .is_recording = schedule_.is_recording(),
      .recording_processes = processes_.CountRecording().on,
      .window = has_windows() ? windows_.ended + 1 : 0,
      .collector_cpu_s = static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) / 1e9};
  metrics_.Update(figures);
  const auto now = std::chrono::steady_clock::now();
  if (now < metrics_due_ && !is_ended_) return;
  metrics_due_ = now + kMetricsPeriod;
  metrics_server_->Serve(metrics_.Text(figures));
}

// Updates what a user sees during the run: remarks, overview and progress line.
void LiveRun::UpdateDisplay() {
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
  const auto now_ms = static_cast<std::int64_t>(run_s() * 1e3) + 1;
  if (!progress_.Due(now_ms)) return;
  const SessionCounts counts = CountProcesses(processes_.Reports());
  progress_.Update(engine_.status(), counts.seen, counts.dropped, now_ms);
}

void LiveRun::UpdateWindow() {
  const double seconds = options_.window.seconds;
  if (seconds != 0.0 && session_.elapsed_s() >= seconds) EndWindow();
}

// Writes the window into a directory of its own. If that fails, the window is lost, and the session
// goes on.
void LiveRun::EndWindow() {
  const Result<Directory> to = ClaimSession(
      session_.directory().PathOf(WindowName(windows_.ended + 1)), SessionPlace::kReplaced);
  const std::vector<ProcessReport> whole = processes_.WholeReports();
  const Result<SessionResult> ended =
      session_.EndWindow(to, [&](SessionResult& result) { AddReports(result, whole); });
  ++windows_.ended;
  if (ended.ok()) {
    const model::PlanTotals& totals = ended.value().plan.totals;
    windows_.uncounted = totals.unobserved_intervals + (totals.dropped + totals.gaps != 0);
    progress_.Say(fmt::format("window {}: {}, {:.3f} ms of GPU time, error bound {:.2f} %, in {}",
                              windows_.ended, Plural(totals.invocations, "launch", "launches"),
                              static_cast<double>(totals.duration_ns) * 1e-6, 100 * totals.bound,
                              ended.value().folder));
  } else {
    ++windows_.uncounted;
    const std::string problem =
        fmt::format("window {} could not be written: {}", windows_.ended, ended.error().message);
    progress_.Say(problem);
    if (windows_.problems.size() < kMaxWindowProblems) {
      windows_.problems.push_back(problem);
    } else {
      ++windows_.more_problems;
    }
  }
  processes_.StartOver(whole);
  metrics_.EndWindow();
  bound_.Reset();
  has_acted_ = false;
  if (options_.keep == 0 || windows_.ended <= options_.keep) return;
  const Status removed =
      RemoveWindow(session_.directory(), WindowName(windows_.ended - options_.keep));
  if (!removed.ok()) progress_.Say(removed.error().message);
}

void LiveRun::UpdateBound(const SignalRelay& signals) {
  std::erase_if(commands_, [](ChildProcess& command) { return command.Poll(); });
  if (options_.at_bound == BoundAction::kNothing || has_acted_ || !bound_.is_reached()) return;
  has_acted_ = true;
  const online::SamplerStatus& status = engine_.status();
  progress_.Say(
      fmt::format("the error bound of {:g} % is met and has stayed met: {:.2f} % after {}",
                  100 * options_.sampling.error_bound, 100 * status.bound,
                  Plural(status.observed, "launch", "launches")));
  ActOnBound(signals);
}

void LiveRun::ActOnBound(const SignalRelay& signals) {
  if (options_.at_bound == BoundAction::kStop) {
    schedule_.Stop();
    FollowSchedule();
  } else if (options_.at_bound == BoundAction::kWindow) {
    EndWindow();
  } else {
    Result<ChildProcess> command = ChildProcess::Start(
        {"/bin/sh", "-c", options_.at_bound_command, "stemtap", session_.path()}, {},
        signals.before(), IgnoredSignals());
    if (command.ok()) {
      commands_.push_back(std::move(command).value());
    } else {
      progress_.Say(command.error().message);
    }
  }
}

void LiveRun::UpdateCheckpoint() {
  if (!checkpoint_.is_due()) return;
  const CheckpointClock::Clock::time_point begin = CheckpointClock::Clock::now();
  // An idle program is not disturbed.
  if (std::exchange(checkpoint_seen_, engine_.launches()) != engine_.launches()) {
    Status written = Error{"out of memory"};
    try {
      written = session_.WriteCheckpoint([this](SessionResult& result) { AddReports(result); },
                                         PackRings(processes_.Progress()));
    } catch (const std::bad_alloc&) {
      // The session needs less memory than its copy, and goes on.
    }
    const std::chrono::duration<double, std::milli> took = CheckpointClock::Clock::now() - begin;
    spdlog::debug("checkpoint: {:.1f} ms{}{}", took.count(),
                  written.ok() ? "" : ", failed: ", written.ok() ? "" : written.error().message);
  }
  checkpoint_.Written(begin);
}

// Says when recording begins or ends, since the figures then stand still.
void LiveRun::FollowSchedule() {
  schedule_.Update(run_s());
  processes_.FollowSchedule();
  const shm::Recording now = schedule_.wanted();
  if (now == std::exchange(said_, now)) return;
  progress_.Say(fmt::format("recording is {}", NameOf(now)));
}

void LiveRun::Watch(std::optional<ChildProcess>& child, SignalRelay& signals) {
  for (;;) {
    processes_.FindRings();
    const bool program_ended = child && child->Poll();
    const bool busy = processes_.Drain(false);
    FollowSchedule();
    UpdateBound(signals);
    UpdateWindow();
    UpdateCheckpoint();
    if (control_) control_->Poll([this](std::string_view request) { return Answer(request); });
    UpdateDisplay();
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
std::string LiveRun::WhyNoProcess(SessionResult& outcome) const {
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

void LiveRun::AddReports(SessionResult& outcome, std::vector<ProcessReport> whole) const {
  outcome.plan.source = options_.command.empty()
                            ? fmt::format("pid {}", options_.attach_pid)
                            : fmt::format("{}", fmt::join(options_.command, " "));
  model::RecordedSession& recorded = outcome.session;
  recorded.devices = processes_.devices();
  recorded.processes = processes_.InWindow(std::move(whole));
  recorded.unobserved = processes_.unobserved();
  // A run that ends in its first window is a whole run.
  recorded.window = !has_windows() || (windows_.ended == 0 && is_ended_) ? 0 : windows_.ended + 1;
  outcome.plan.totals.unobserved_intervals = windows_.uncounted;
  recorded.warnings.insert(recorded.warnings.end(), windows_.problems.begin(),
                           windows_.problems.end());
  if (windows_.more_problems != 0) {
    recorded.warnings.push_back(fmt::format(
        "{} could not be written", Plural(windows_.more_problems, "more window", "more windows")));
  }
  if (const std::uint64_t more = processes_.unlisted_intervals(); more != 0) {
    recorded.warnings.push_back(fmt::format("recording was off {} more than the {} that are listed",
                                            Plural(more, "time", "times"),
                                            model::kMaxUnobservedIntervals));
  }
  engine_.AddWarnings(recorded.warnings);
  if (!why_no_control_.empty()) recorded.warnings.push_back(why_no_control_);
  if (engine_.excluded_captured() != 0) {
    recorded.warnings.push_back(
        fmt::format("{} launches of excluded kernels were captured before the gate excluded them",
                    engine_.excluded_captured()));
  }
  if (processes_.refused_captures() != 0) {
    recorded.warnings.push_back(
        fmt::format("{} launches that processes reported as captured count as not captured: "
                    "stemtap had not requested their captures",
                    processes_.refused_captures()));
  }
}

Result<std::string> LiveRun::Answer(std::string_view request) {
  const std::size_t space = request.find(' ');
  const std::string_view command = request.substr(0, space);
  const std::string_view rest =
      space == std::string_view::npos ? std::string_view() : request.substr(space + 1);
  if (command == "snapshot") return Snapshot(rest);
  if (command == "start") return Switch(true, rest);
  if (command == "stop") return Switch(false, rest);
  if (command == "state") return StateOfRecording();
  return Error{
      fmt::format("the session does not know the request '{:.40}'; expected snapshot, "
                  "start, stop or state",
                  EscapeForTerminal(std::string(request)))};
}

Result<std::string> LiveRun::Switch(bool on, std::string_view pid) {
  if (pid.empty()) {
    if (on) {
      schedule_.Start();
    } else {
      schedule_.Stop();
    }
    processes_.FollowSchedule();
    return StateOfRecording();
  }
  const std::optional<std::uint64_t> number = WholeNumber(pid);
  const shm::Recording wanted = on                                   ? shm::Recording::kOn
                                : options_.recording.count_while_off ? shm::Recording::kCounting
                                                                     : shm::Recording::kOff;
  if (!number || *number > INT32_MAX ||
      !processes_.Request(static_cast<std::int32_t>(*number), wanted)) {
    return Error{fmt::format("process {} is not recorded by this session",
                             EscapeForTerminal(std::string(pid)))};
  }
  return StateOfRecording();
}

// "on 2 off 1 changing 0": the number of processes in each state.
std::string LiveRun::StateOfRecording() const {
  const TracedProcesses::RecordingCounts counts = processes_.CountRecording();
  return fmt::format("{} on {} off {} changing {}", NameOf(schedule_.wanted()), counts.on,
                     counts.off, counts.changing);
}

Result<std::string> LiveRun::Snapshot(std::string_view request) const {
  const std::size_t space = request.find(' ');
  const std::string_view word = request.substr(0, space);
  const auto place = std::ranges::find(kSnapshotPlaces, word, &SnapshotPlace::word);
  if (place == std::end(kSnapshotPlaces) || space == std::string_view::npos) {
    return Error{"the request for a snapshot has no directory; expected 'snapshot PLACE PATH'"};
  }
  const Directory to =
      STEMTAP_TRY(ClaimSession(std::string(request.substr(space + 1)), place->place));
  Result<SessionResult> written = Error{"out of memory"};
  try {
    written = session_.WriteSnapshot(to, [this](SessionResult& result) { AddReports(result); });
  } catch (const std::bad_alloc&) {
    // The session needs less memory than its copy, and goes on.
  }
  if (written.ok()) return to.path();
  for (const char* name : model::kSessionFiles) to.Remove(name);
  to.RemoveSelf();
  return written.error();
}

SessionResult LiveRun::Finish(const std::optional<ChildProcess>& child, const GateMemory& gate) {
  const double elapsed_s = session_.elapsed_s();
  model::Plan plan = engine_.Finish();
  SessionResult outcome = session_.Draft(std::move(plan), engine_.status());
  model::RecordedSession& recorded = outcome.session;
  recorded.elapsed_s = elapsed_s;
  if (child) {
    recorded.exit_code = child->exit_code();
    recorded.signal = child->signal();
  }
  control_.reset();
  is_ended_ = true;
  recorded.warnings = processes_.CloseAll();
  AddReports(outcome);
  session_.directory().Remove(shm::kGateFileName);
  session_.directory().Remove(shm::kRecordingFileName);
  if (!processes_.any()) recorded.warnings.push_back(WhyNoProcess(outcome));
  // In quiet mode no summary reports this either.
  if (options_.quiet && processes_.any()) outcome.failure = WhyAllDisabled(recorded.processes);
  if (options_.quiet && outcome.failure.empty()) outcome.failure = processes_.WhyUnread();
  if (gate.lost()) {
    recorded.warnings.push_back(
        "gate.table was truncated by another process: no launch was captured afterwards");
  }
  if (windows_.ended != 0) {
    recorded.completeness = "in all windows: " + model::CompletenessLine(processes_.WholeReports());
  }
  const Status written = session_.Finish(outcome);
  if (!written.ok()) outcome.failure = written.error().message;
  LogEnd(outcome);
  processes_.RemoveLeftovers();
  return outcome;
}

void LogStart(const LiveOptions& options) {
  spdlog::info("stemtap {}, collector {}: {}", kVersion, ::getpid(),
               EscapeForTerminal(options.command.empty()
                                     ? fmt::format("joins process {}", options.attach_pid)
                                     : fmt::format("{}", fmt::join(options.command, " "))));
  if (const std::string why_not = WhyNotRecorded(); !why_not.empty()) {
    spdlog::warn("nothing will be recorded: {}", why_not);
  }
  bool is_failure = false;
  const std::string notice = options.command.empty() ? "" : NvtxNotice(options, is_failure);
  if (!notice.empty()) spdlog::warn("{}", notice);
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
SessionResult Collect(std::optional<LiveRun>& run, const GateMemory& gate,
                      std::optional<ChildProcess>& child, SignalRelay& signals) {
  try {
    run->Watch(child, signals);
    return run->Finish(child, gate);
  } catch (const std::exception& trouble) {
    run.reset();
    SessionResult outcome;
    outcome.gave_up = true;
    if (dynamic_cast<const std::bad_alloc*>(&trouble) != nullptr) {
      outcome.failure = "out of memory";  // short enough to be stored without allocation
    } else {
      outcome.failure = trouble.what();
    }
    if (child) AwaitEnd(*child, signals);
    if (child) outcome.session.exit_code = child->exit_code();
    return outcome;
  }
}

Result<std::unique_ptr<Session>> OpenSession(SessionOptions options) {
  if (options.command.empty()) options.place = SessionPlace::kExisting;
  return Session::Open(SessionMode::kLive, std::move(options));
}

Result<ChildProcess> StartProgram(const LiveOptions& options, const Session& session,
                                  const SignalRelay& signals, const sigset_t& defaults) {
  // Printed now, because the program may run long and quiet mode has no summary.
  const std::string why_not = WhyNotRecorded();
  if (!why_not.empty()) {
    std::fputs(fmt::format("stemtap: warning: nothing will be recorded: {}\n", why_not).c_str(),
               stderr);
  }
  bool is_failure = false;
  const std::string notice = NvtxNotice(options, is_failure);
  if (is_failure) std::fputs(fmt::format("stemtap: warning: {}\n", notice).c_str(), stderr);
  char* absolute = ::realpath(session.path().c_str(), nullptr);
  const std::string directory = absolute != nullptr ? absolute : options.folder;
  ::free(absolute);
  return ChildProcess::Start(options.command, ProgramEnvironment(options, directory),
                             signals.before(), defaults);
}

// Printed before the program starts, because the port may have been chosen just now.
void AnnounceMetrics(const MetricsServer& metrics, bool is_quiet, Session& session) {
  session.AddOption("metrics_address", metrics.address());
  if (is_quiet) return;
  std::fputs(fmt::format("stemtap: metrics are at http://{}/metrics\n", metrics.address()).c_str(),
             stderr);
}

}  // namespace

// At other levels than gate, the program has no gate and captures nothing.
Captures CapturesOf(const LiveOptions& options) {
  const bool slowed =
      options.level == TraceLevel::kGate && options.actuator != "log" && !options.native_captures;
  return slowed ? Captures::kPerturb : Captures::kNoted;
}

Result<SessionResult> RunLive(const LiveOptions& options) {
  // A reader of our stderr that exits, or the file size limit, must not end the session and lose
  // the program's exit code. A SIGCHLD that our parent ignores would lose that code too.
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : kIgnoredSignals) {
    if (::signal(signal, SIG_IGN) == SIG_DFL) sigaddset(&defaults, signal);
  }
  ::signal(SIGCHLD, SIG_DFL);
  SignalRelay signals;  // before the threads of the pool and of the metrics start

  const bool attach = options.command.empty();
  std::unique_ptr<MetricsServer> metrics;
  if (!options.metrics_address.empty()) {
    metrics = STEMTAP_TRY(MetricsServer::Open(options.metrics_address));
  }
  const std::unique_ptr<Session> opened = STEMTAP_TRY(OpenSession(options));
  Session& session = *opened;
  Result<GateMemory> gate =
      options.level == TraceLevel::kGate
          ? GateMemory::CreateIn(session.directory(),
                                 (options.share_captures ? 0 : shm::kGateByProcess) |
                                     (options.director ? shm::kGateByCredit : 0),
                                 options.sampling.seed)
          : GateMemory::Private();
  if (!gate.ok()) {
    session.Discard();
    return gate.error();
  }
  std::optional<LiveRun> run;
  run.emplace(options, session, gate.value().table(), metrics.get());
  const Status begun = run->Begin();
  if (!begun.ok()) return begun.error();
  if (metrics) AnnounceMetrics(*metrics, options.quiet, session);
  std::optional<ChildProcess> child;
  if (!attach) {
    Result<ChildProcess> started = StartProgram(options, session, signals, defaults);
    if (!started.ok()) {
      session.Discard();
      return started.error();
    }
    child = std::move(started).value();
  }
  const SessionLog log(session.directory(), options.log_level);
  LogStart(options);
  if (metrics) spdlog::info("metrics are at http://{}/metrics", metrics->address());
  return Collect(run, gate.value(), child, signals);
}

}  // namespace stemtap::session
