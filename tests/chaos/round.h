// SPDX-License-Identifier: Apache-2.0
//
// Plays one round: runs the program alone, runs it with stemtap and the drawn faults, and checks
// the result.
#pragma once

#include <filesystem>
#include <string>

#include "chaos/checks.h"
#include "chaos/draw.h"

namespace stemtap::chaos {

struct Verdict {
  Breaches breaches;
  std::string by_hand;         // command that repeats the run with stemtap
  bool refused = false;        // stemtap could not start and reported this
  std::uint64_t launches = 0;  // number of launches in the truth
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  bool disabled = false;                     // some process recorded nothing and reports the reason
  std::map<std::string, int> refused_calls;  // by a Supervisor
  std::string attach;                        // what `stemtap attach` did, or empty
  std::uint64_t windows = 0;                 // directories of windows
  double seconds = 0;
};

// Plays a round in a new directory and keeps the directory. `python` is the interpreter, or empty.
Verdict Play(const Round& round, const std::filesystem::path& folder, const std::string& python,
             bool verbose);

}  // namespace stemtap::chaos
