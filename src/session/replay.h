// SPDX-License-Identifier: Apache-2.0
//
// RunReplay plays a recorded profile through the engine and sampler of live use, with the feedback
// delay of live use, and writes the same session directory.
//
// A separate thread reads and decodes one batch ahead. All decisions run on the caller's thread and
// the pool.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/plan.h"
#include "model/profile_reader.h"
#include "sampling/sampling_options.h"
#include "session/session_report.h"

namespace stemtap::session {

// Launches between a capture and the time when the sampler knows its duration: 0.1 to 0.5 s of live
// feedback at a few tens of thousands of launches per second.
inline constexpr std::uint64_t kDefaultLag = 20000;

struct ReplayOptions {
  sampling::SamplingOptions sampling;
  model::OptionList listed;
  std::uint64_t lag = kDefaultLag;
  std::string source;           // profile name, for the files
  std::string folder;           // session directory; empty: none
  bool default_folder = false;  // default name; if it is taken, another is used
  unsigned threads = 0;
  bool quiet = false;
};

struct ReplayOutcome {
  model::Plan plan;
  SessionReport report;
  std::string folder;    // session directory; empty: none
  double seconds = 0.0;  // from the first read to the plan
};

// Fails if the profile is empty.
Result<ReplayOutcome> RunReplay(model::ProfileReader& reader, const ReplayOptions& options);

}  // namespace stemtap::session
