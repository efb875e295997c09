// SPDX-License-Identifier: Apache-2.0
//
// Session writes the session directory of one run of the engine, which may be live, replayed or
// inside a tracer: mask.ndjson and overview.json while the run continues, and plan.json,
// session.json, cells.json and summary.txt at the end.
//
//   Open ─► Begin(engine) ─► UpdateOverview ... ─► Draft ─► Finish
//
// THREADS: one caller.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/directory.h"
#include "base/result.h"
#include "base/unix_ms.h"
#include "model/overview.h"
#include "model/plan.h"
#include "model/session.h"
#include "online/online_sampler.h"
#include "sampling/sampling_options.h"
#include "session/engine.h"
#include "session/mask_writer.h"
#include "session/overview_file.h"
#include "session/session_directory.h"

namespace stemtap::session {

// Names of the types of session.json (model/session.h) that this module fills in.
using model::DeviceTotals;
using model::ProcessReport;
using model::ProcessState;
using model::SessionCounts;
using model::StreamTotals;

enum class SessionMode : std::uint8_t { kLive, kReplay, kGate, kMerged };
// Names in session.json and overview.json.
inline constexpr const char* kSessionModeNames[] = {"live", "replay", "gate", "merged"};
constexpr const char* NameOf(SessionMode mode) {
  return kSessionModeNames[static_cast<std::size_t>(mode)];
}

// SessionOptions are the options that live sessions, replays and tracers share.
struct SessionOptions {
  sampling::SamplingOptions sampling;
  model::OptionList listed;          // all options with their values, for the files
  std::vector<std::string> command;  // of the program; empty: attached, replay or tracer
  std::string folder;                // session directory; empty: no files are written
  SessionPlace place = SessionPlace::kNamed;
};

// SessionResult is what a live session, a replay or a tracer returns.
struct SessionResult {
  model::Plan plan;
  model::RecordedSession session;  // DeviceTotals::process is an index of its processes
  online::SamplerStatus sampler;
  // Warnings about session files that are incomplete, also in session.warnings. Printed even in
  // quiet mode.
  std::vector<std::string> incomplete;
  std::string folder;    // session directory; empty: none
  std::string failure;   // why the session's files could not be written; empty on success
  bool gave_up = false;  // only the program's exit code and the failure are valid
};

// Adds a process to `sum`, the report of several. Its state is kRecording if a process is
// recording, otherwise kClosed if a process is closed. REQUIRES: an empty sum is kDisabled.
void AddProcess(const ProcessReport& process, ProcessReport& sum);

// Removes from `report` what `before`, an earlier report of the same process, contains.
void SubtractProcess(const ProcessReport& before, ProcessReport& report);

// Returns the totals over all processes of a session.
SessionCounts CountProcesses(std::span<const ProcessReport> processes);

// Sets what follows from other fields of `result`: the counters of the session, and the losses in
// the totals of the plan. Call once, before the functions below.
void Complete(SessionResult& result);

// Fills in the counts that an overview shares with session.json.
void SetCounts(const SessionCounts& counts, model::Overview& overview);
// Completes the overview of a session that has ended. REQUIRES: the engine has filled in its part.
void EndOverview(const SessionResult& result, model::Overview& overview);

// Returns the content of summary.txt: the plan's summary, followed by devices, cost, losses, and
// processes that recorded nothing.
std::string SessionSummary(const model::RecordedSession& session, const model::Plan& plan);

class Session {
 public:
  // Fails if the exclude pattern is invalid or the directory cannot be claimed.
  static Result<std::unique_ptr<Session>> Open(SessionMode mode, SessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Adds an option that is known only after Open. Call before Finish.
  void AddOption(std::string name, model::OptionValue value) {
    options_.listed.emplace_back(std::move(name), std::move(value));
  }
  // REQUIRES: the session writes files.
  const Directory& directory() const { return *directory_; }
  // Returns the path of the directory, or an empty string if no files are written.
  std::string path() const { return directory_ ? directory_->path() : std::string(); }
  Timeline& timeline() { return timeline_; }
  // Time since the session, or its present window, began.
  double elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  // Opens the mask, and observes `engine` for the mask, the timeline and the overview. `details`
  // adds to each overview what the engine does not know. Both must outlive the session's last
  // overview. On failure, the session is discarded. Call once, before the first launch.
  Status Begin(Engine& engine, std::function<void(model::Overview&)> details = nullptr);

  // Writes the overview if an update is due. REQUIRES: files are written and Begin was called.
  void UpdateOverview() { overview_->Update(); }

  // Returns the result as far as the session knows it. The caller adds what it knows of processes,
  // devices and warnings. `status`: of the sampler that made the plan.
  SessionResult Draft(model::Plan plan, const online::SamplerStatus& status) const;

  // Completes `result`, closes the mask, and writes the last overview and the results. Adds
  // warnings to `result` if the mask or an overview could not be written. Call after the last
  // launch.
  Status Finish(SessionResult& result);

  // Writes a session into `to`, claimed with ClaimSession, as if the program had ended now. `add`
  // adds to the result what the session does not know. Returns the result. The session goes on, and
  // nothing of it changes.
  Result<SessionResult> WriteSnapshot(const Directory& to,
                                      const std::function<void(SessionResult&)>& add) const;

  // Writes a checkpoint (session/checkpoint.h), with what `add` adds to the result, and `rings`
  // (PackRings). If it cannot be written, the last one stays. Nothing of the session changes.
  Status WriteCheckpoint(const std::function<void(SessionResult&)>& add,
                         const std::string& rings) const;

  // Ends a window: writes a finished session of it into `to`, as WriteSnapshot does, and begins the
  // next one, with an empty mask. The engine starts over, also if the window cannot be written, or
  // there is no directory for it.
  Result<SessionResult> EndWindow(const Result<Directory>& to,
                                  const std::function<void(SessionResult&)>& add);

  // Removes what Open created and the gate table, if the session failed, so that the next attempt
  // can use the name. In the directory of an injected library, removes only the claim.
  void Discard();

 private:
  Session(SessionMode mode, SessionOptions options, std::optional<Directory> directory);
  // Fills in all but the state of the sampler.
  void Describe(model::Overview& overview) const;
  // Completes a result that is written while the session goes on. Returns its overview.
  model::Overview Conclude(const std::function<void(SessionResult&)>& add,
                           const online::OnlineSampler& sampler, SessionResult& result) const;
  Status WriteWhole(const Directory& to, const std::function<void(SessionResult&)>& add,
                    const online::OnlineSampler& sampler, SessionResult& result) const;

  SessionMode mode_;
  SessionOptions options_;
  std::optional<Directory> directory_;
  MaskWriter mask_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t started_unix_ms_ = UnixMs();
  Timeline timeline_;
  std::optional<OverviewFile> overview_;
  Engine* engine_ = nullptr;
  std::function<void(model::Overview&)> details_;
  // Completes the last overview; empty while the session runs.
  std::function<void(model::Overview&)> end_;
};

}  // namespace stemtap::session
