// SPDX-License-Identifier: Apache-2.0
//
// The options --fleet, --job and --rank of commands that take part in a job (src/fleet).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "fleet/member.h"
#include "sampling/sampling_options.h"
#include "ui/cli/command_table.h"

namespace stemtap::ui {

struct FleetFlags {
  std::string url;
  std::string job;
  std::optional<std::uint32_t> rank;

  // Adds --fleet and --job.
  void AddTo(CommandSpec& command);
  // Also adds --rank.
  void AddWithRankTo(CommandSpec& command);

  // Takes STEMTAP_FLEET and STEMTAP_JOB for options that are not set.
  void TakeVariables();

  bool is_set() const { return !url.empty() || !job.empty() || rank; }
  // Fails with exit code 2 if --fleet or --job is missing or malformed.
  Result<fleet::RedisUrl> Url() const;
  // Fails with exit code 2 if Url does, or if runs with these options cannot share captures.
  Status Check(const sampling::SamplingOptions& options) const;
  // Returns how many runs the launcher of the job has started, or 1.
  static std::uint32_t SizeOfLauncher();

  // Enters the job as one of its runs. Fails if the server cannot be reached.
  Result<std::unique_ptr<fleet::Member>> Join(const sampling::SamplingOptions& options,
                                              std::uint64_t observe_first) const;
};

}  // namespace stemtap::ui
