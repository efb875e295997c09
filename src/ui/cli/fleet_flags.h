// SPDX-License-Identifier: Apache-2.0
//
// The options --fleet, --job and --rank of commands that take part in a job (src/fleet).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "fleet/leader.h"
#include "fleet/member.h"
#include "fleet/private_server.h"
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
  // Takes STEMTAP_FLEET if only --job is set: so the password is in no process list, and without
  // --job, a command is of no job.
  void TakeServer();

  bool is_set() const { return !url.empty() || !job.empty() || rank; }
  // Whether a run of the job starts the server.
  bool is_auto() const { return url == "auto"; }
  // Returns --job, or with --fleet auto what the launcher names the job.
  std::string Job() const;
  // Returns a line about the bound of a run in the job, which covers only its own captures.
  std::string BoundNote() const;
  // Returns the server of the job. Fails with exit code 2 if --fleet or --job is missing or
  // malformed. With --fleet auto, also fails if no run has started the server.
  Result<fleet::RedisUrl> Server() const;
  // As Server, but waits some seconds for the run that starts the server.
  Result<fleet::RedisUrl> AwaitServer() const;
  // Fails with exit code 2 if --fleet or --job is missing or malformed, or if runs with these
  // options cannot share captures.
  Status Check(const sampling::SamplingOptions& options) const;

  // Starts the server of --fleet auto if this run has rank 0, and no other run has started one.
  // Otherwise returns null.
  Result<std::unique_ptr<fleet::PrivateServer>> StartServer(bool quiet) const;
  // Returns this run as one of the job at `server`, which it has not entered yet.
  std::unique_ptr<fleet::Member> NewMember(fleet::RedisUrl server,
                                           const sampling::SamplingOptions& options,
                                           fleet::AskingPace pace) const;

 private:
  // Returns the URL; nothing with --fleet auto.
  Result<std::optional<fleet::RedisUrl>> Url() const;
};

}  // namespace stemtap::ui
