// SPDX-License-Identifier: Apache-2.0
//
// RunReplay plays a recorded profile through the engine and sampler of live use, with the feedback
// delay of live use, and writes the same session directory.
//
// A separate thread reads and decodes one batch ahead. All decisions run on the caller's thread and
// the pool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/plan.h"
#include "model/profile.h"
#include "online/director.h"
#include "sampling/sampling_options.h"
#include "session/session.h"
#include "session/session_directory.h"

namespace stemtap::session {

// The lag is the number of launches between a capture and the time when the sampler knows its
// duration. The maximum default is 0.1 to 0.5 s of live feedback at a few tens of thousands of
// launches per second. The sampler needs at least the minimum for a first distribution.
inline constexpr std::uint64_t kMinDefaultLag = 64;
inline constexpr std::uint64_t kMaxDefaultLag = 20000;
// Default lags per run. The first random captures are made after two lags, a tenth of a run. With
// fewer lags per run, a larger part of a short run has no random captures.
inline constexpr std::uint64_t kLagsPerRun = 20;

// Returns the default lag of a run with that many launches, or at least kLongRun launches.
constexpr std::uint64_t DefaultLag(std::uint64_t launches) {
  return std::clamp(launches / kLagsPerRun, kMinDefaultLag, kMaxDefaultLag);
}
inline constexpr std::uint64_t kLongRun = kLagsPerRun * kMaxDefaultLag;
static_assert(DefaultLag(kLongRun - 1) < kMaxDefaultLag);

// RunReplay adds the lag to the listed options.
struct ReplayOptions : SessionOptions {
  std::optional<std::uint64_t> lag;  // default: DefaultLag
  // Returns who decides instead of the sampler, given the lag, or null. It must outlive the replay.
  std::function<Result<online::Director*>(std::uint64_t lag)> director = nullptr;
  std::string source;  // profile name, for the files
  unsigned threads = 0;
  bool quiet = false;
};

// Fails if the profile is empty.
Result<SessionResult> RunReplay(model::ProfileReader& reader, const ReplayOptions& options);

}  // namespace stemtap::session
