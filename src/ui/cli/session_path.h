// SPDX-License-Identifier: Apache-2.0
//
// A user names a session by its directory or by a file in it, and a plan by its file or by the session's
// directory. Every option that takes a plan or a session accepts both.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace stemtap::cli {

// The plan.json of the session directory `path`; any other path as it is.
std::string PlanPath(const std::string& path);

// The session directory that `path` names a file of (plan.json, session.json, ...); any other path as it
// is, such as a plan.json without a session.json next to it.
std::string SessionPath(const std::string& path);

// Options whose values go through PlanPath, or SessionPath.
CLI::Option* AsPlan(CLI::Option* option);
CLI::Option* AsSession(CLI::Option* option);

}  // namespace stemtap::cli
