// SPDX-License-Identifier: Apache-2.0
//
// SessionBuilder assembles the session directory of one run of the engine, which may be live,
// replayed or inside a tracer: mask.ndjson and overview.json while the run continues, and
// plan.json, session.json, cells.json and summary.txt at the end.
//
//   Open ─► Begin(engine) ─► UpdateOverview ... ─► Report ─► Finish
//
// THREADS: one caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/directory.h"
#include "base/result.h"
#include "base/unix_ms.h"
#include "model/plan.h"
#include "sampling/sampling_options.h"
#include "session/engine.h"
#include "session/mask_writer.h"
#include "session/overview_file.h"
#include "session/session_directory.h"
#include "session/session_report.h"
#include "session/timeline.h"

namespace stemtap::session {

// SessionSetup is what a session knows before it begins.
struct SessionSetup {
  SessionMode mode = SessionMode::kLive;
  sampling::SamplingOptions sampling;
  model::OptionList listed;  // all options with their values, for the files
  std::vector<std::string> command;
  std::string directory;  // empty: no files are written
  SessionPlace place = SessionPlace::kNamed;
};

class SessionBuilder {
 public:
  // Fails if the exclude pattern is invalid or the directory cannot be claimed.
  static Result<std::unique_ptr<SessionBuilder>> Open(SessionSetup setup);
  SessionBuilder(const SessionBuilder&) = delete;
  SessionBuilder& operator=(const SessionBuilder&) = delete;

  // Adds an option that is known only after Open. Call before Finish.
  void AddOption(std::string name, model::OptionValue value) {
    setup_.listed.emplace_back(std::move(name), std::move(value));
  }
  // REQUIRES: the session writes files.
  const Directory& directory() const { return *directory_; }
  // Returns the path of the directory, or an empty string if no files are written.
  std::string path() const { return directory_ ? directory_->path() : std::string(); }
  Timeline& timeline() { return timeline_; }
  double elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  // Opens the mask, and observes `engine` for the mask, the timeline and the overview. `details`
  // adds to each overview what the engine does not know. Both must outlive the session's last
  // overview. On failure, the session is discarded. Call once, before the first launch.
  Status Begin(Engine& engine, std::function<void(model::Overview&)> details = nullptr);

  // Writes the overview if an update is due. REQUIRES: files are written and Begin was called.
  void UpdateOverview() { overview_->Update(); }

  // Returns the mode, command, options, time and sampler status of the session.
  SessionReport Report() const;

  // Closes the mask, and writes the last overview and the results. Adds what the processes lost to
  // the totals of `plan`, and warnings to `report` if the mask or an overview could not be written.
  // Call after the last launch.
  Status Finish(SessionReport& report, model::Plan& plan);

  // Removes what Open created and the gate table, if the session failed, so that the next attempt
  // can use the name. In the directory of an injected library, removes only the claim.
  void Discard();

 private:
  SessionBuilder(SessionSetup setup, std::optional<Directory> directory);
  void Describe(model::Overview& overview) const;

  SessionSetup setup_;
  std::optional<Directory> directory_;
  MaskWriter mask_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::uint64_t started_unix_ms_ = UnixMs();
  Timeline timeline_;
  std::optional<OverviewFile> overview_;
  const Engine* engine_ = nullptr;
  std::function<void(model::Overview&)> details_;
  // Completes the last overview; empty while the session runs.
  std::function<void(model::Overview&)> end_;
};

}  // namespace stemtap::session
