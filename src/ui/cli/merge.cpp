// SPDX-License-Identifier: Apache-2.0
// stemtap merge: merges the sessions of several machines into one.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "fleet/job.h"
#include "fleet/pooled_plan.h"
#include "model/session_files.h"
#include "session/merge/merge_sessions.h"
#include "ui/cli/command_table.h"
#include "ui/cli/fleet_flags.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {
namespace {

struct MergeArguments {
  std::vector<std::string> sessions;
  std::string output;
  FleetFlags fleet;
  bool force = false;
  bool json = false;
  bool quiet = false;
};

namespace fs = std::filesystem;

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

// Merges the sessions of a job, with the plan of all its launches.
Result<session::MergeOutcome> MergeJob(const MergeArguments& arguments) {
  if (!arguments.sessions.empty()) {
    return Error{"--fleet merges the sessions of the job; expected no session directories", 2};
  }
  fleet::Job job(STEMTAP_TRY(arguments.fleet.Url()), arguments.fleet.job);
  std::vector<fleet::RunState> known = STEMTAP_TRY(job.ReadChanges());
  const std::vector<fleet::DirectedKernel> clusters = STEMTAP_TRY(job.ReadClusters());
  std::sort(known.begin(), known.end(), [](const auto& a, const auto& b) {
    return std::pair(a.run.rank, a.run.id) < std::pair(b.run.rank, b.run.id);
  });
  const std::unique_ptr<TemporaryDirectory> scratch = STEMTAP_TRY(TemporaryDirectory::Create());
  std::vector<std::string> folders;
  std::vector<fleet::RunState> runs;
  std::vector<std::string> missing;
  for (fleet::RunState& state : known) {
    const std::map<std::string, std::string> files = STEMTAP_TRY(job.ReadFiles(state.run.id));
    // What the server has of a run that goes on may be older than its files.
    if (!state.run.has_ended || !files.contains("session.json")) {
      missing.push_back(fmt::format("rank {} on {}: its session is not in the job: {} are missing",
                                    state.run.rank, EscapeForTerminal(state.run.host),
                                    Plural(state.run.launches, "launch", "launches")));
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
                             EscapeForTerminal(arguments.fleet.job))};
  }
  session::MergeOutcome merged = STEMTAP_TRY(session::MergeSessions(
      folders, arguments.output, session::PlaceOf(true, arguments.force),
      [&](const model::Plan& plan) { return fleet::PoolPlan(plan, runs, clusters); }));
  merged.warnings.insert(merged.warnings.end(), missing.begin(), missing.end());
  return merged;
}

Result<int> RunMerge(const MergeArguments& arguments) {
  const bool of_job = arguments.fleet.is_set();
  if (!of_job && arguments.sessions.empty()) {
    return Error{"no session is named; expected session directories, or --fleet and --job", 2};
  }
  const session::MergeOutcome merged =
      STEMTAP_TRY(of_job ? MergeJob(arguments)
                         : session::MergeSessions(arguments.sessions, arguments.output,
                                                  session::PlaceOf(true, arguments.force)));
  Warn(merged.warnings);
  const model::Plan& plan = merged.plan;
  if (!arguments.quiet) {
    PrintMessage(fmt::format("stemtap: {} in {}\n", Plural(plan.sessions.size(), "session"),
                             EscapeForTerminal(arguments.output)));
    PrintNextReport(arguments.output);
  }
  return arguments.json ? PrintJson(TotalsJson(plan)) : PrintText(merged.summary);
}

}  // namespace

CommandSpec MergeCommand() {
  CommandSpec command("merge", "merge the sessions of several machines into one");
  auto arguments = std::make_shared<MergeArguments>();
  command
      .Add("session", &arguments->sessions,
           "session directories, in the order of their ranks; merged sessions are accepted")
      .File(FinishedPath);
  arguments->fleet.AddTo(command);
  command.Add("-o,--output", &arguments->output, "session directory to write")
      .Directory()
      .Required();
  AddForce(command, &arguments->force);
  command.Add("--json", &arguments->json, "print the plan's totals as JSON");
  command.Add("-q,--quiet", &arguments->quiet,
              "print neither the location of the session nor the next command");
  command.run = [arguments](const CommandSpec&) { return RunMerge(*arguments); };
  return command;
}

}  // namespace stemtap::ui
