// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/fleet_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "fleet/job_file.h"
#include "ui/cli/launcher.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

constexpr std::size_t kMaxJobBytes = 200;

// Sets `value` to the variable if it is empty.
void TakeVariable(const char* name, std::string& value) {
  const char* variable = std::getenv(name);
  if (value.empty() && variable != nullptr) value = variable;
}

}  // namespace

void FleetFlags::AddTo(CommandSpec& command) {
  command
      .Add("--fleet", &url,
           "Redis server of a job whose runs share their captures; auto: the first run of the "
           "job starts one, and merges the job")
      .Type("URL|auto");
  command.Add("--job", &job, "name of the job").Type("NAME");
}

void FleetFlags::AddWithRankTo(CommandSpec& command) {
  AddTo(command);
  command.Add("--rank", &rank, "rank of this run in the job (default: as the launcher has set)")
      .Advanced();
}

void FleetFlags::TakeVariables() {
  TakeVariable("STEMTAP_FLEET", url);
  if (!url.empty()) TakeVariable("STEMTAP_JOB", job);
}

void FleetFlags::TakeServer() {
  if (!job.empty()) TakeVariable("STEMTAP_FLEET", url);
}

std::string FleetFlags::Job() const {
  return job.empty() && is_auto() ? JobOfLauncher() : job;
}

std::string FleetFlags::BoundNote() const {
  const std::string name = EscapeForTerminal(Job());
  // The URL may contain a password.
  return fmt::format(
      "stemtap: the bound of this run covers only its own captures; the bound of job '{}': {}\n",
      name,
      is_auto() ? "in the output of rank 0"
                : fmt::format("stemtap merge --fleet URL --job {} -o DIRECTORY", name));
}

Result<std::optional<fleet::RedisUrl>> FleetFlags::Url() const {
  if (url.empty())
    return Error{job.empty() ? "--rank requires --fleet" : "--job requires --fleet", 2};
  const std::string name = Job();
  if (name.empty()) {
    return Error{is_auto() ? "--fleet auto requires --job, because no launcher names the job"
                           : "--fleet requires --job",
                 2};
  }
  const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c > ' ' && c != 0x7F && c != '{' && c != '}';
  });
  if (!is_plain || name.size() > kMaxJobBytes) {
    return Error{fmt::format("--job '{}': expected at most {} bytes without spaces and braces",
                             EscapeForTerminal(name), kMaxJobBytes),
                 2};
  }
  if (is_auto()) return std::optional<fleet::RedisUrl>();
  return std::optional(STEMTAP_TRY(fleet::ParseRedisUrl(url)));
}

Result<fleet::RedisUrl> FleetFlags::Server() const {
  std::optional<fleet::RedisUrl> named = STEMTAP_TRY(Url());
  if (named) return *std::move(named);
  return fleet::FindServer(STEMTAP_TRY(fleet::JobDirectory()), Job());
}

Result<fleet::RedisUrl> FleetFlags::AwaitServer() const {
  if (!is_auto()) return Server();
  return fleet::AwaitServer(STEMTAP_TRY(fleet::JobDirectory()), Job());
}

Status FleetFlags::Check(const sampling::SamplingOptions& options) const {
  STEMTAP_TRY(Url());
  if (options.bound == sampling::BoundScope::kWorkload) return Success{};
  return Error{"--fleet: a job has one bound, of its total; expected --bound workload", 2};
}

Result<std::unique_ptr<fleet::PrivateServer>> FleetFlags::StartServer(bool quiet) const {
  if (!is_auto() || rank.value_or(RankOfLauncher()) != 0 || Server().ok()) {
    return std::unique_ptr<fleet::PrivateServer>();
  }
  const std::string directory = STEMTAP_TRY(fleet::JobDirectory());
  std::unique_ptr<fleet::PrivateServer> server =
      STEMTAP_TRY(fleet::PrivateServer::Start(directory, Job(), LauncherSpansHosts()));
  if (server != nullptr && !quiet) {
    PrintMessage(fmt::format("stemtap: job '{}': other runs find the server of this run by {}\n",
                             EscapeForTerminal(Job()), EscapeForTerminal(server->path_of_file())));
  }
  return server;
}

std::unique_ptr<fleet::Member> FleetFlags::NewMember(fleet::RedisUrl server,
                                                     const sampling::SamplingOptions& options,
                                                     fleet::AskingPace pace) const {
  fleet::RunInfo run;
  run.host = fleet::HostName();
  run.rank = rank.value_or(RankOfLauncher());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  run.id = fmt::format("{}-{}-{:x}", run.host, ::getpid(),
                       std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  return std::make_unique<fleet::Member>(std::move(server), Job(), std::move(run), options, pace);
}

}  // namespace stemtap::ui
