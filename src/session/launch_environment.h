// SPDX-License-Identifier: Apache-2.0
//
// What the environment of a live session means for recording: the variables that the injected
// library needs in the program, and other tools that get in the way.
#pragma once

#include <string>
#include <vector>

#include "session/live_session.h"

namespace stemtap::session {

// Returns the library of another tool that CUDA would load, or nullptr.
const char* OtherInjection(const LiveOptions& options);

// Returns why no program that this process starts can be recorded (a profiling tool started this
// process and claims CUPTI in every program below it), or an empty string.
std::string WhyNotRecorded();

// Returns what is unusual about NVTX_INJECTION64_PATH, or an empty string. Either NVTX ranges are
// not recorded, because it is set to the library of another tool, which is not replaced
// (`is_failure`), or it is set to CUPTI, which ProgramEnvironment replaces.
std::string NvtxNotice(const LiveOptions& options, bool& is_failure);

// Returns the variables (NAME=value) that the injected library needs in the program's environment.
std::vector<std::string> ProgramEnvironment(const LiveOptions& options,
                                            const std::string& directory);

}  // namespace stemtap::session
