// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/fleet_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "base/text.h"

namespace stemtap::ui {
namespace {

constexpr std::size_t kMaxJobBytes = 200;

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// Returns the number in the first of the variables that is set to one, or `fallback`.
std::uint32_t NumberIn(std::initializer_list<const char*> variables, std::uint32_t fallback) {
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    char* end = nullptr;
    if (value == nullptr || *value == 0) continue;
    const unsigned long number = std::strtoul(value, &end, 10);
    if (*end == 0 && number <= UINT32_MAX) return static_cast<std::uint32_t>(number);
  }
  return fallback;
}

// Returns the rank that the launcher of the job has set, or 0.
std::uint32_t RankOfLauncher() {
  return NumberIn(
      {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JOB_COMPLETION_INDEX"}, 0);
}

}  // namespace

void FleetFlags::AddTo(CommandSpec& command) {
  command.Add("--fleet", &url, "Redis server of a job whose runs share their captures").Type("URL");
  command.Add("--job", &job, "name of the job").Type("NAME");
}

void FleetFlags::AddWithRankTo(CommandSpec& command) {
  AddTo(command);
  command.Add("--rank", &rank, "rank of this run in the job (default: as the launcher has set)")
      .Advanced();
}

void FleetFlags::TakeVariables() {
  const auto take = [](const char* name, std::string& into) {
    const char* value = std::getenv(name);
    if (into.empty() && value != nullptr) into = value;
  };
  take("STEMTAP_FLEET", url);
  if (!url.empty()) take("STEMTAP_JOB", job);
}

std::uint32_t FleetFlags::SizeOfLauncher() {
  return NumberIn({"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1);
}

Result<fleet::RedisUrl> FleetFlags::Url() const {
  if (url.empty())
    return Error{job.empty() ? "--rank requires --fleet" : "--job requires --fleet", 2};
  if (job.empty()) return Error{"--fleet requires --job", 2};
  const bool is_plain = std::all_of(job.begin(), job.end(), [](unsigned char c) {
    return c > ' ' && c != 0x7F && c != '{' && c != '}';
  });
  if (!is_plain || job.size() > kMaxJobBytes) {
    return Error{fmt::format("--job '{}': expected at most {} bytes without spaces and braces",
                             EscapeForTerminal(job), kMaxJobBytes),
                 2};
  }
  return fleet::ParseRedisUrl(url);
}

Status FleetFlags::Check(const sampling::SamplingOptions& options) const {
  STEMTAP_TRY(Url());
  if (options.bound == sampling::BoundScope::kWorkload) return Success{};
  return Error{"--fleet: a job has one bound, of its total; expected --bound workload", 2};
}

Result<std::unique_ptr<fleet::Member>> FleetFlags::Join(const sampling::SamplingOptions& options,
                                                        std::uint64_t observe_first) const {
  fleet::RedisUrl server = STEMTAP_TRY(Url());
  fleet::RunInfo run;
  run.host = HostName();
  run.rank = rank.value_or(RankOfLauncher());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  run.id = fmt::format("{}-{}-{:x}", run.host, ::getpid(),
                       std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  auto member = std::make_unique<fleet::Member>(std::move(server), job, std::move(run), options,
                                                observe_first);
  STEMTAP_TRY(member->Join());
  return member;
}

}  // namespace stemtap::ui
