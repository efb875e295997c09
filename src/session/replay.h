// SPDX-License-Identifier: Apache-2.0
//
// RunReplay plays a recorded profile through the same engine and sampler as live use, with the
// feedback delay of live use, and leaves the same session folder.
//
// Reading and decoding run one batch ahead on a thread of their own; everything that decides runs
// on the caller's thread and the pool.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/plan.h"
#include "model/profile_reader.h"
#include "sampling/sampling_options.h"
#include "session/session_writer.h"

namespace stemtap {

// Launches between a capture and the moment its duration is known to the sampler: 0.1 to 0.5 s of
// live feedback at a few ten thousand launches a second.
inline constexpr std::uint64_t kDefaultLag = 20000;

struct ReplayOptions {
  SamplingOptions sampling;
  OptionList listed;
  std::uint64_t lag = kDefaultLag;
  std::string source;           // name of the profile, for the files
  std::string folder;           // empty: no session folder
  bool default_folder = false;  // of a name that the user did not give: if it is taken, another
  unsigned threads = 0;
  bool quiet = false;
};

struct ReplayOutcome {
  Plan plan;
  SessionReport report;
  std::string folder;    // of the session; empty: none
  double seconds = 0.0;  // from the first read to the plan
};

// An empty profile is an error.
Result<ReplayOutcome> RunReplay(ProfileReader& reader, const ReplayOptions& options);

}  // namespace stemtap
