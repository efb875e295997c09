// SPDX-License-Identifier: Apache-2.0
//
// LiveFlags contains the options of a live session, shared by `run` and `demo`. RunAndReport runs
// the session and prints its report to stderr, because stdout belongs to the traced program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "session/flags/option_table.h"
#include "session/flags/sampling_flags.h"
#include "session/live_session.h"

namespace stemtap::ui {

class LiveFlags {
 public:
  void AddTo(session::CommandSpec& command);
  // Checks before the program starts that the options are compatible and that the files they name
  // exist.
  Status Check() const;
  // Returns all live options except the command.
  session::LiveOptions Options() const;
  // Returns whether a session without a kernel launch is a failure.
  bool require_kernels() const { return require_kernels_; }

  const session::SamplingFlags& sampling() const { return sampling_; }

 private:
  session::SamplingFlags sampling_;
  session::LiveOptions options_;  // without what Options() adds
  bool force_ = false;
  std::optional<std::uint32_t> captures_per_second_;
  bool require_kernels_ = false;
};

// Runs the session and prints its summary. Returns the exit code of `stemtap run`, which is the
// program's. Error (exit code kNothingRecorded): `require_kernels` is set and no kernel launch was
// recorded.
inline constexpr int kNothingRecorded = 3;
Result<int> RunAndReport(const session::LiveOptions& options, bool require_kernels);

}  // namespace stemtap::ui
