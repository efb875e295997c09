// SPDX-License-Identifier: Apache-2.0
//
// Runs, plans and sessions that a command line names.
//
// A user names a session by its directory or a file in it, a plan by its file or its session
// directory, and a recorded run by its files.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/comparison/run_diff.h"
#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"
#include "sampling/two_pass.h"
#include "session/flags/command_line.h"
#include "session/flags/sampling_flags.h"

namespace stemtap::ui {

// Returns the plan.json of the session directory `path`; returns any other path unchanged.
std::string PlanPath(const std::string& path);

// Returns the session directory of the session file (plan.json, session.json, ...) at `path`.
// Returns any other path unchanged, for example a plan.json without a session.json next to it.
std::string SessionPath(const std::string& path);

// Like SessionPath, but takes a snapshot of a session that still runs, and returns that. The
// snapshot is removed when this process ends. If none can be taken, returns the session, which the
// caller then refuses.
std::string FinishedPath(const std::string& path);

// Returns the name to show for a path that FinishedPath returned: the session, not its snapshot.
std::string ShownPath(const std::string& path);

// Adds the plan of a command, which is its argument or the value of --plan. `plan` stays empty if
// neither is given.
void AddPlan(session::CommandSpec& command, std::string* plan, const std::string& help);

enum class RunInput { kSession, kPlan, kProfile };

// Returns what `path` is: a directory is a session, a file with the schema of plan.json is a plan,
// and any other file or stream is a profile. Fails if the path cannot be read.
Result<RunInput> KindOfInput(const std::string& path);

// ReadProgress shows on a terminal how much of a file has been read or how far an evaluation has
// progressed, for example "43 %  reading llm.json.gz". It prints nothing if stderr is not a
// terminal or the operation takes less than half a second.
class ReadProgress {
 public:
  explicit ReadProgress(bool quiet = false);
  ~ReadProgress() { Clear(); }
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;

  // Returns a watch to pass to the reader of the file at `path`. Do not call it after this object
  // is destroyed.
  ReadWatch Of(const std::string& path);

  // Reports that `done` of `all` units of `what` are complete. If `all` is 0, the total is unknown
  // and `done` is in bytes.
  void Show(const std::string& what, std::uint64_t done, std::uint64_t all);

  // Clears the progress line before other output. Later reads may show it again.
  void Clear();
  // Clears the progress line and disables it permanently.
  void End() {
    Clear();
    terminal_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

// Help text of the option that names the run.
inline constexpr const char* kRunHelp =
    "recorded run, see 'stemtap formats'; several files are its ranks";

// Help text of --lag (session/replay.h).
inline constexpr const char* kLagHelp =
    "number of launches before the sampler knows a duration (default: launches / 20, from 64 to "
    "20000)";

// Returns whether the run can be read twice, which requires that all of it is in regular files.
bool CanReadAgain(const std::vector<std::string>& paths);

// Returns the name of the run in result files.
std::string RunName(const std::vector<std::string>& paths);

// Returns the files that RunName named. A path that contains ", " is one file if a file of that
// name exists.
std::vector<std::string> RunPaths(const std::string& name);

// Opens the run. `metrics` is empty if there is no metrics file. Shows reads on `progress` until
// its End(). `selection`: which launches count, and which ranges their names have.
Result<std::unique_ptr<model::ProfileReader>> OpenRun(const std::vector<std::string>& paths,
                                                      const std::string& metrics,
                                                      ReadProgress& progress,
                                                      const model::LaunchSelection& selection = {});

// Opens the run and loads it into memory.
Result<model::Profile> LoadRun(const std::vector<std::string>& paths, const std::string& metrics,
                               ReadProgress& progress,
                               const model::LaunchSelection& selection = {});

// Returns an error if the run has no launches.
Status CheckNotEmpty(std::uint64_t launches, const std::string& name);

// Adds the options for the inputs of methods that need more than durations.
void AddMethodInputs(session::CommandSpec& command, std::string* bbv, std::string* metrics);

// Returns the plan of the run `name`, which `open` opens, with the method and the other options of
// `sampling`, and the warnings of the reader.
Result<sampling::TwoPassPlan> PlanRun(const sampling::OpenReader& open, const std::string& name,
                                      const session::SamplingFlags& sampling);

// Compares run `b` with run `a`. Each is a session directory, a plan.json, or a recorded profile;
// at most one is "-", standard input. Shows the progress and the warnings of reads on stderr.
Result<analysis::RunDiff> CompareRuns(const std::string& a, const std::string& b,
                                      const analysis::DiffOptions& options);

}  // namespace stemtap::ui
