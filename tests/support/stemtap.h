// SPDX-License-Identifier: Apache-2.0
//
// Runs the stemtap program as a user does.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/check_failure.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::test {

// The first line of a canonical profile.
inline constexpr const char* kProfileHeader =
    "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
    "shared_bytes,graph_id,name\n";

inline ProcessResult RunStemtap(std::vector<std::string> arguments,
                                const ProcessOptions& options = {}) {
  arguments.insert(arguments.begin(), StemtapProgram().string());
  return RunProcess(arguments, options);
}

// Runs the program in `directory`.
inline ProcessResult RunStemtap(const TempDir& directory, std::vector<std::string> arguments) {
  return RunStemtap(std::move(arguments), {.cwd = directory.path()});
}

// Checks that the arguments are a usage error whose message contains all of `words`.
inline void CheckUsageError(const std::vector<std::string>& arguments,
                            const std::vector<std::string>& words) {
  CheckFailure(RunStemtap(arguments), 2, words);
}
inline void CheckUsageError(const TempDir& directory, const std::vector<std::string>& arguments,
                            const std::vector<std::string>& words) {
  CheckFailure(RunStemtap(directory, arguments), 2, words);
}

}  // namespace stemtap::test
