// SPDX-License-Identifier: Apache-2.0
//
// What the launcher of a job has set in the environment: torchrun, Slurm, an MPI, or an indexed Job
// of Kubernetes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stemtap::ui {

// Returns the rank of this process, or 0.
std::uint32_t RankOfLauncher();

// Returns how many processes the launcher has started, if it has set the number.
std::optional<std::uint32_t> SizeOfLauncher();

// Returns a name that no other job of the user has at the time, or "".
std::string JobOfLauncher();

// Returns whether processes of the job may be on other hosts.
bool LauncherSpansHosts();

}  // namespace stemtap::ui
