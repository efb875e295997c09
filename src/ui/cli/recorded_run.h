// SPDX-License-Identifier: Apache-2.0
//
// The recorded run that a command line names: one profile, or one for each rank, with or without the
// metrics of another file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile_reader.h"
#include "ui/cli/read_progress.h"

namespace stemtap::cli {

// What the option's help calls it.
inline constexpr const char* kRunHelp =
    "recorded run, see 'stemtap formats'; several files are its ranks";

// Whether the run can be read a second time: all of it is in regular files.
bool CanReadAgain(const std::vector<std::string>& paths);

// What files of results call the run.
std::string RunName(const std::vector<std::string>& paths);

// The files that RunName named, as far as they are there: a path that holds ", " is one file if there
// is one of that name.
std::vector<std::string> RunPaths(const std::string& name);

// `metrics` is empty where there are none. Reads until the end are shown by `progress`.
Result<std::unique_ptr<ProfileReader>> OpenRun(const std::vector<std::string>& paths,
                                               const std::string& metrics, ReadProgress& progress);

}  // namespace stemtap::cli
