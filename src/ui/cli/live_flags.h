// SPDX-License-Identifier: Apache-2.0
//
// What run and demo share: the options of a live session, and running it with its report on stderr
// (stdout is the program's).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "session/flags/sampling_flags.h"
#include "session/live_session.h"

namespace stemtap::cli {

class LiveFlags {
 public:
  void AddTo(CLI::App& command);
  // Whether the options go together, and what they name is there: before a program is started.
  Status Check() const;
  // Everything but the command.
  LiveOptions Options() const;
  // Whether a session without a kernel launch is a failure.
  bool require_kernels() const { return require_kernels_; }

  const SamplingFlags& sampling() const { return sampling_; }

 private:
  SamplingFlags sampling_;
  std::string output_;
  std::string level_ = "kernels";
  std::string actuator_ = "log";
  double max_overhead_ = 0.0;
  std::optional<std::uint32_t> captures_per_second_;
  std::string share_captures_ = "on";
  std::string captured_times_ = "slowed";
  bool preload_ = false;
  bool chain_ = false;
  bool quiet_ = false;
  bool require_kernels_ = false;
};

// Runs the session and prints its summary; returns the exit code of `stemtap run`: the program's, or
// that of the failure; kNothingRecorded if `require_kernels` and no kernel launch was recorded.
inline constexpr int kNothingRecorded = 3;
int RunAndReport(const LiveOptions& options, bool require_kernels);

}  // namespace stemtap::cli
