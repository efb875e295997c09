// SPDX-License-Identifier: Apache-2.0
//
// Plays one round: the program alone, then the same with stemtap and all that goes wrong, then the
// checks.
#pragma once

#include <filesystem>
#include <string>

#include "chaos/checks.h"
#include "chaos/draw.h"

namespace stemtap::chaos {

struct Verdict {
  Breaches breaches;
  std::string by_hand;         // commands that repeat the run with stemtap
  bool refused = false;        // stemtap could not begin, and said so
  std::uint64_t launches = 0;  // that the truth knows of
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  bool stood_down = false;                   // some process recorded nothing and says why
  std::map<std::string, int> refused_calls;  // by a Supervisor
  double seconds = 0;
};

// `directory` is new, and left as it is. `python` is the interpreter, or empty.
Verdict Play(const Round& round, const std::filesystem::path& folder, const std::string& python,
             bool verbose);

}  // namespace stemtap::chaos
