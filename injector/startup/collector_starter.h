// SPDX-License-Identifier: Apache-2.0
//
// Starts a collector for a program that loads the library without `stemtap run`. The application
// observes no side effects: no SIGCHLD, no child for its wait(), no open file, and no change to the
// signal mask. See docs/design/injection.md.
//
// THREADS: called once, during initialization.
#pragma once

#include <cstddef>

#include "startup/options.h"

namespace stemtap::inject {

// Creates the session directory and writes its absolute path to `folder`. The path is the -o value
// in STEMTAP_OPTIONS, or `stemtap-<program>-<pid>` in the working directory. If it already exists,
// `-2`, `-3` and so on is appended. On failure writes the reason to `problem` and returns false.
bool MakeSessionFolder(const Options& options, char* folder, std::size_t size, char* problem,
                       std::size_t problem_size) noexcept;

// Runs `stemtap run --attach <pid> --output <folder> --level ...` in the background. On failure
// writes the reason to `problem` and returns 0. Returns the collector's process id.
int StartCollector(const Options& options, const char* folder, char* problem,
                   std::size_t problem_size) noexcept;

}  // namespace stemtap::inject
