// SPDX-License-Identifier: Apache-2.0
//
// The recorded run that a command line names: one profile or one per rank, optionally with metrics
// from another file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "session/flags/option_table.h"
#include "ui/cli/read_progress.h"

namespace stemtap::ui {

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
// its End().
Result<std::unique_ptr<model::ProfileReader>> OpenRun(const std::vector<std::string>& paths,
                                                      const std::string& metrics,
                                                      ReadProgress& progress);

// Opens the run and loads it into memory.
Result<model::Profile> LoadRun(const std::vector<std::string>& paths, const std::string& metrics,
                               ReadProgress& progress);

// Returns an error if the run has no launches.
Status CheckNotEmpty(std::uint64_t launches, const std::string& name);

// Adds the options for the inputs of methods that need more than durations.
void AddMethodInputs(session::CommandSpec& command, std::string* bbv, std::string* metrics);

}  // namespace stemtap::ui
