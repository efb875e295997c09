// SPDX-License-Identifier: Apache-2.0
//
// SessionReport is the outcome of a session besides its plan: what session.json contains and
// summary.txt shows. See docs/formats/session.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/overview.h"
#include "model/plan.h"
#include "online/online_sampler.h"
#include "session/process_report.h"

namespace stemtap::session {

enum class SessionMode : std::uint8_t { kLive, kReplay, kGate, kMerged };
// Names in session.json and overview.json.
inline constexpr const char* kSessionModeNames[] = {"live", "replay", "gate", "merged"};
constexpr const char* NameOf(SessionMode mode) {
  return kSessionModeNames[static_cast<std::size_t>(mode)];
}

struct SessionReport {
  SessionMode mode = SessionMode::kLive;
  std::vector<std::string> command;
  model::OptionList options;
  double elapsed_s = 0.0;
  int exit_code = 0;
  int signal = 0;  // signal that ended the program; 0: none
  std::vector<ProcessReport> processes;
  online::SamplerStatus sampler;
  std::vector<DeviceTotals> devices;  // DeviceTotals::process is an index into `processes`
  std::vector<std::string> warnings;
  // Warnings about session files that are incomplete, also in `warnings`. Printed even in quiet
  // mode.
  std::vector<std::string> incomplete;
  std::uint64_t mask_events_missing = 0;  // decisions that mask.ndjson lacks
};

// Adds a process to `sum`, the report of several. Its state is kRecording if a process is
// recording, otherwise kClosed if a process is closed. REQUIRES: an empty sum is kDisabled.
void AddProcess(const ProcessReport& process, ProcessReport& sum);

// Returns the totals over all processes of a session.
SessionCounts CountProcesses(std::span<const ProcessReport> processes);

// Adds what the processes lost to the totals of the plan. Call once, before the functions below.
void AddLosses(const SessionReport& report, model::Plan& plan);

// Fills in the counts that an overview shares with session.json.
void SetCounts(const SessionCounts& counts, model::Overview& overview);
// Completes the overview of a session that has ended. REQUIRES: the engine has filled in its part.
void EndOverview(const SessionReport& report, const model::Plan& plan, model::Overview& overview);

// Returns the content of session.json.
std::string SessionToJson(const SessionReport& report, const model::Plan& plan);

// Returns the content of summary.txt: the plan's summary, followed by devices, cost, losses, and
// processes that recorded nothing.
std::string SessionSummary(const SessionReport& report, const model::Plan& plan);

}  // namespace stemtap::session
