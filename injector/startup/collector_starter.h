// SPDX-License-Identifier: Apache-2.0
//
// Starts a collector for a program that was given the library without `stemtap run`. The
// application must not notice: no SIGCHLD, no child that its wait() could find, no open file, no
// signal mask changed. Source: docs/design/injection.md.
//
// THREADS: called once, at initialisation.
#pragma once

#include <cstddef>

#include "startup/options.h"

namespace stemtap::inject {

// Makes the session directory, `stemtap-<program>-<pid>` in the working directory or what -o of
// STEMTAP_OPTIONS names, with `-2` and so on appended where there is one already, and writes its
// absolute path to `folder`.
bool MakeSessionFolder(const Options& options, char* folder, std::size_t size, char* problem,
                       std::size_t problem_size) noexcept;

// Runs `stemtap run --attach <pid> --output <folder> --level ...` in the background.
bool StartCollector(const Options& options, const char* folder, char* problem,
                    std::size_t problem_size) noexcept;

}  // namespace stemtap::inject
