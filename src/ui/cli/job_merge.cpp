// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/job_merge.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "fleet/job.h"
#include "fleet/pooled_plan.h"
#include "fleet/rank_comparison.h"
#include "model/session_files.h"
#include "ui/cli/job_ranks.h"
#include "ui/cli/launcher.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

// How often the first run looks whether the others have ended, and how many times before it prints
// that it waits.
constexpr std::chrono::milliseconds kPoll{250};
constexpr int kQuietPolls = 2;

// Ranks that the message names.
constexpr std::size_t kShownRanks = 8;

// TemporaryDirectory is a directory that exists as long as this object.
class TemporaryDirectory {
 public:
  static Result<std::unique_ptr<TemporaryDirectory>> Create() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    if (error) {
      return Error{fmt::format("the directory for temporary files (TMPDIR): {}", error.message())};
    }
    std::string name = (parent / "stemtap-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      return Error{fmt::format("{}: cannot be created: {}", name, std::strerror(errno))};
    }
    return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(name));
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// Writes the files of a run's session into `folder`. The server is not trusted, so only the names
// of session files are written.
Status WriteSession(const std::map<std::string, std::string>& files, const fs::path& folder) {
  std::error_code error;
  if (!fs::create_directories(folder, error) && error) {
    return Error{fmt::format("{}: cannot be created: {}", folder.string(), error.message())};
  }
  for (const char* name : model::kSessionFiles) {
    const auto file = files.find(name);
    if (file == files.end()) continue;
    std::ofstream to(folder / name, std::ios::binary);
    to << file->second;
    if (!to.flush()) {
      return Error{fmt::format("{}: cannot be written", (folder / name).string())};
    }
  }
  return Success{};
}

// StopSignals receives the signals that end a wait, instead of the process.
class StopSignals {
 public:
  StopSignals() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, &before_);
    // A live session blocks them too. Those that ended its program do not end the wait.
    while (HasCome(std::chrono::milliseconds(0))) {
    }
  }
  ~StopSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Waits for a signal, for at most `limit`, and returns whether one has come.
  bool HasCome(std::chrono::milliseconds limit) const {
    const timespec time = {limit.count() / 1000, limit.count() % 1000 * 1'000'000};
    return ::sigtimedwait(&signals_, nullptr, &time) > 0;
  }

 private:
  sigset_t signals_;
  sigset_t before_;
};

// JobRuns follows the runs of a job until all have ended.
class JobRuns {
 public:
  explicit JobRuns(fleet::RedisUrl server, const std::string& job) : job_(std::move(server), job) {}

  // Returns the ranks of the runs that go on, or whose files have not arrived, in order. Runs that
  // are silent are taken for dead.
  Result<std::vector<std::uint64_t>> Pending() {
    for (const fleet::RunState& state : STEMTAP_TRY(job_.ReadChanges())) {
      runs_[state.run.id] = state.run;
    }
    const std::vector<std::string> silent = STEMTAP_TRY(job_.ReadSilent());
    std::vector<std::uint64_t> ranks;
    for (const auto& [id, run] : runs_) {
      if (stored_.contains(id) || std::ranges::count(silent, id) != 0) continue;
      if (run.has_ended && STEMTAP_TRY(job_.ReadFiles(id)).contains("session.json")) {
        stored_.insert(id);
      } else {
        ranks.push_back(run.rank);
      }
    }
    std::ranges::sort(ranks);
    return ranks;
  }

  std::size_t count() const { return runs_.size(); }

 private:
  fleet::Job job_;
  std::map<std::string, fleet::RunInfo> runs_;
  std::set<std::string> stored_;  // runs whose files are in the job
};

std::string WaitingText(const std::string& job, const std::vector<std::uint64_t>& ranks) {
  std::string shown = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < std::min(ranks.size(), kShownRanks); ++i) {
    shown += (i == 0 ? " " : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kShownRanks) {
    shown += fmt::format(" and {} more", ranks.size() - kShownRanks);
  }
  return fmt::format("stemtap: job '{}': waiting for {}; Ctrl-C merges the job without them\n",
                     EscapeForTerminal(job), ranks.empty() ? "ranks that have not entered" : shown);
}

// `limit`: until then, more runs may enter the job, unless the launcher has set how many there are.
Status AwaitOthers(const fleet::RedisUrl& server, const std::string& job,
                   std::chrono::steady_clock::time_point limit, bool quiet) {
  const StopSignals signals;
  JobRuns runs(server, job);
  for (int polls = 0;; ++polls) {
    const std::vector<std::uint64_t> ranks = STEMTAP_TRY(runs.Pending());
    const bool all_entered = runs.count() >= SizeOfLauncher().value_or(UINT32_MAX) ||
                             std::chrono::steady_clock::now() > limit;
    if (ranks.empty() && all_entered) return Success{};
    if (polls == kQuietPolls && !quiet) PrintMessage(WaitingText(job, ranks));
    if (signals.HasCome(kPoll)) return Success{};
  }
}

}  // namespace

Result<session::MergeOutcome> MergeJob(fleet::RedisUrl server, const std::string& job_name,
                                       const std::string& output, session::SessionPlace place) {
  fleet::Job job(std::move(server), job_name);
  std::vector<fleet::RunState> known = STEMTAP_TRY(job.ReadChanges());
  const std::vector<fleet::DirectedKernel> clusters = STEMTAP_TRY(job.ReadClusters());
  std::sort(known.begin(), known.end(), [](const auto& a, const auto& b) {
    return std::pair(a.run.rank, a.run.id) < std::pair(b.run.rank, b.run.id);
  });
  const std::unique_ptr<TemporaryDirectory> scratch = STEMTAP_TRY(TemporaryDirectory::Create());
  std::vector<std::string> folders;
  std::vector<fleet::RunState> runs;
  session::JobParts parts;
  for (fleet::RunState& state : known) {
    const std::map<std::string, std::string> files = STEMTAP_TRY(job.ReadFiles(state.run.id));
    // What the server has of a run that goes on may be older than its files.
    if (!state.run.has_ended || !files.contains("session.json")) {
      parts.warnings.push_back(fmt::format(
          "rank {} on {}: its session is not in the job: {} are missing", state.run.rank,
          EscapeForTerminal(state.run.host), Plural(state.run.launches, "launch", "launches")));
      continue;
    }
    // The last part is the name of the session.
    const fs::path folder =
        scratch->path() / std::to_string(runs.size()) / fmt::format("rank-{}", state.run.rank);
    STEMTAP_TRY(WriteSession(files, folder));
    folders.push_back(folder.string());
    runs.push_back(std::move(state));
  }
  if (runs.empty()) {
    return Error{fmt::format("job '{}' has no session that has ended; expected at least one",
                             EscapeForTerminal(job_name))};
  }
  const fleet::RankComparison ranks = fleet::CompareRanks(runs, STEMTAP_TRY(job.ReadKernels()));
  const std::vector<std::string> slow = SlowRanks(ranks);
  parts.warnings.insert(parts.warnings.end(), slow.begin(), slow.end());
  parts.pool = [&](const model::Plan& plan) { return fleet::PoolPlan(plan, runs, clusters); };
  session::MergeOutcome merged = STEMTAP_TRY(session::MergeSessions(folders, output, place, parts));
  STEMTAP_TRY(WriteOutput(output + "/ranks.json", RanksJson(ranks, job_name)));
  return merged;
}

Status EndJob(const fleet::PrivateServer& server, const std::string& job, const std::string& folder,
              bool quiet) {
  const std::string output = folder + "/" + session::kJobDirectoryName;
  const Status waited =
      AwaitOthers(server.url(), job, server.started_at() + fleet::kMaxFind, quiet);
  const Result<session::MergeOutcome> merged =
      waited.ok() ? MergeJob(server.url(), job, output, session::SessionPlace::kReplaced)
                  : Result<session::MergeOutcome>(waited.error());
  if (!merged.ok()) {
    return Error{
        fmt::format("job '{}' is not merged: {}", EscapeForTerminal(job), merged.error().message)};
  }
  Warn(merged.value().warnings);
  Warn(merged.value().job_warnings);
  if (quiet) return Success{};
  const model::Plan& plan = merged.value().plan;
  PrintMessage(fmt::format("stemtap: job '{}': {} in {}: {}, {}, error bound {:.2f} %\n",
                           EscapeForTerminal(job), Plural(plan.sessions.size(), "session"),
                           EscapeForTerminal(output),
                           Plural(plan.totals.invocations, "launch", "launches"),
                           Plural(plan.totals.samples, "sample"), 100 * plan.totals.bound));
  if (plan.totals.samples != 0) PrintNextReport(output);
  return Success{};
}

}  // namespace stemtap::ui
