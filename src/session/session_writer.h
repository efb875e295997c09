// SPDX-License-Identifier: Apache-2.0
//
// SessionWriter owns a session directory: makes it, and at the end leaves session.json, plan.json,
// cells.json and summary.txt in it beside the mask. See docs/formats/session.md.
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

namespace stemtap {

// One traced process, as its ring told it.
struct ProcessReport {
  std::int32_t pid = 0;
  std::string program;
  std::string state;   // recording (did not say goodbye), stood_down, closed
  std::string reason;  // why it stood down, or what it had to say
  std::uint32_t cupti_version = 0;
  std::uint32_t driver_version = 0;
  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t skipped = 0;
  std::uint64_t read = 0;  // records that the collector took from the ring
  std::uint64_t late = 0;  // of these, outside the window in which launch order is restored
  std::uint64_t malformed = 0;
  std::uint64_t launches_gated = 0;
  std::uint64_t launches_captured = 0;
  std::uint64_t buffers = 0;
  // What recording cost, see wire/ring.h.
  std::uint64_t cost_program_ns = 0;
  std::uint64_t cost_background_ns = 0;
  std::uint64_t cost_cupti_ns = 0;
  std::uint64_t losses[shm::kLossCount] = {};

  std::uint64_t dropped() const;  // kernel records that are known to be lost
  std::uint64_t gaps() const;     // losses of unknown size
};

// What session.json holds besides the plan's totals.
struct SessionReport {
  const char* mode = "live";  // or replay
  std::vector<std::string> command;
  OptionList options;
  double elapsed_s = 0.0;
  int exit_code = 0;
  int signal = 0;  // that ended the program; 0: none
  std::vector<ProcessReport> processes;
  SamplerStatus sampler;
  std::vector<DeviceTotals> devices;  // DeviceTotals::process is an index into `processes`
  std::vector<std::string> warnings;
};

// What a session says of all its processes together.
struct SessionCounts {
  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  std::uint64_t gaps = 0;
  std::uint64_t losses[shm::kLossCount] = {};
};
SessionCounts CountProcesses(std::span<const ProcessReport> processes);

// Fills in what an overview shares with session.json, as of now (`processes`), or at the end.
void SetCounts(const SessionCounts& counts, Overview& overview);
// REQUIRES: the engine has filled in its part. `plan` as Finish is to get it.
void EndOverview(const SessionReport& report, const Plan& plan, Overview& overview);

// How a session gets its directory.
enum class SessionPlace {
  kNamed,     // the user named it: new or empty
  kDefault,   // a name of ours: new; if it is taken, NAME-2 and so on
  kExisting,  // made by an injected library, which waits for its collector
};

class SessionWriter {
 public:
  // Makes the directory, or takes it, and claims it by creating the mask in it: of several that want
  // one directory, one gets it.
  static Result<SessionWriter> Create(const std::string& path, SessionPlace place);

  const Directory& directory() const { return directory_; }

  // The mask, which is still empty. Call once.
  Result<MaskWriter> OpenMask();

  // Removes what Create made, and the gate table, when no session came of it.
  void Discard();

  // Writes the four files. What was dropped is added to the plan's totals first.
  Status Finish(const SessionReport& report, Plan& plan);

 private:
  explicit SessionWriter(Directory directory) : directory_(std::move(directory)) {}
  Directory directory_;
};

// The summary's text: the plan's, then what was lost and which processes recorded nothing.
std::string SessionSummary(const SessionReport& report, const Plan& plan);

}  // namespace stemtap
