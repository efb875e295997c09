// SPDX-License-Identifier: Apache-2.0
//
// LiveRun runs the loop of a live session: it passes the launches of the traced processes to the
// engine until the program has ended, and then writes the session's files.
//
// THREADS: one caller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/worker_pool.h"
#include "session/child_process.h"
#include "session/engine.h"
#include "session/gate_memory.h"
#include "session/live_session.h"
#include "session/progress.h"
#include "session/session_builder.h"
#include "session/signal_relay.h"
#include "session/traced_processes.h"

namespace stemtap::session {

// Sleep time of the loop when all rings are empty, and so the maximum delay for new rings and
// records. 50 wake-ups per second have no measurable cost.
inline constexpr int kIdleMs = 20;

class LiveRun {
 public:
  // All referenced objects must outlive the run.
  LiveRun(const LiveOptions& options, SessionBuilder& session, shm::GateTable& gate);

  // Opens the mask. On failure, the session is discarded.
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

}  // namespace stemtap::session
