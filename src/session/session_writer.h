// SPDX-License-Identifier: Apache-2.0
//
// SessionWriter owns a session directory: it creates the directory, and at the end writes
// session.json, plan.json, cells.json and summary.txt next to the mask. See
// docs/formats/session.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/directory.h"
#include "base/result.h"
#include "model/overview.h"
#include "model/plan.h"
#include "session/device_use.h"
#include "session/engine.h"
#include "shm/loss.h"

namespace stemtap::session {

// ProcessReport is the state of one traced process, as read from its ring.
struct ProcessReport {
  std::int32_t pid = 0;
  std::string program;
  std::string state;   // recording (no clean shutdown), stood_down (disabled), closed
  std::string reason;  // why recording is disabled, or remarks of the process
  std::uint32_t cupti_version = 0;
  std::uint32_t driver_version = 0;
  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t skipped = 0;
  std::uint64_t read = 0;  // records that the collector took from the ring
  std::uint64_t late = 0;  // read records outside the window in which launch order is restored
  std::uint64_t malformed = 0;
  std::uint64_t launches_gated = 0;
  std::uint64_t launches_captured = 0;
  std::uint64_t buffers = 0;
  // Recording overhead, see shm/ring.h.
  std::uint64_t cost_program_ns = 0;
  std::uint64_t cost_background_ns = 0;
  std::uint64_t cost_cupti_ns = 0;
  std::uint64_t losses[shm::kLossCount] = {};

  std::uint64_t dropped() const;  // kernel records known to be lost
  std::uint64_t gaps() const;     // losses of unknown size
};

// SessionReport is the content of session.json besides the plan's totals.
struct SessionReport {
  const char* mode = "live";  // or replay
  std::vector<std::string> command;
  model::OptionList options;
  double elapsed_s = 0.0;
  int exit_code = 0;
  int signal = 0;  // signal that ended the program; 0: none
  std::vector<ProcessReport> processes;
  online::SamplerStatus sampler;
  std::vector<DeviceTotals> devices;  // DeviceTotals::process is an index into `processes`
  std::vector<std::string> warnings;
};

// SessionCounts are the totals over all processes of a session.
struct SessionCounts {
  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  std::uint64_t gaps = 0;
  std::uint64_t losses[shm::kLossCount] = {};
};
SessionCounts CountProcesses(std::span<const ProcessReport> processes);

// Fills in the counts that an overview shares with session.json, during the run (`processes`) or at
// the end.
void SetCounts(const SessionCounts& counts, model::Overview& overview);
// REQUIRES: the engine has filled in its part. `plan` is the plan that Finish will receive.
void EndOverview(const SessionReport& report, const model::Plan& plan, model::Overview& overview);

// How a session gets its directory.
enum class SessionPlace {
  kNamed,     // named by the user; must be new or empty
  kDefault,   // default name; must be new, with -2 and so on appended if it is taken
  kExisting,  // created by an injected library that waits for its collector
};

class SessionWriter {
 public:
  // Creates or opens the directory, and claims it by creating the mask in it: of several processes
  // that want the same directory, one succeeds.
  static Result<SessionWriter> Create(const std::string& path, SessionPlace place);

  const Directory& directory() const { return directory_; }

  // Opens the mask, which is still empty. Call once.
  Result<MaskWriter> OpenMask();

  // Removes what Create made and the gate table, if the session failed.
  void Discard();

  // Writes the four files, after adding dropped launches to the plan's totals.
  Status Finish(const SessionReport& report, model::Plan& plan);

 private:
  explicit SessionWriter(Directory directory) : directory_(std::move(directory)) {}
  Directory directory_;
};

// Returns the summary: the plan's, followed by losses and processes that recorded nothing.
std::string SessionSummary(const SessionReport& report, const model::Plan& plan);

}  // namespace stemtap::session
