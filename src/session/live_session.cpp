// SPDX-License-Identifier: Apache-2.0
#include "session/live_session.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/text.h"
#include "session/launch_environment.h"
#include "session/live_run.h"
#include "session/session_log.h"
#include "shm/session_env.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

void LogStart(const LiveOptions& options) {
  spdlog::info("stemtap {}, collector {}: {}", kVersion, ::getpid(),
               EscapeForTerminal(options.command.empty()
                                     ? fmt::format("joins process {}", options.attach_pid)
                                     : fmt::format("{}", fmt::join(options.command, " "))));
  if (const std::string why_not = WhyNotRecorded(); !why_not.empty()) {
    spdlog::warn("nothing will be recorded: {}", why_not);
  }
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

Result<std::unique_ptr<SessionBuilder>> OpenSession(const LiveOptions& options) {
  return SessionBuilder::Open(
      {.mode = SessionMode::kLive,
       .sampling = options.sampling,
       .listed = options.listed,
       .command = options.command,
       .directory = options.folder,
       .place = options.command.empty() ? SessionPlace::kExisting : options.place});
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
  if (!opened.ok()) return opened.error();
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
  const SessionLog log(session.directory(), options.log_level);
  LogStart(options);
  return Collect(run, gate.value(), child, signals);
}

}  // namespace stemtap::session
