// SPDX-License-Identifier: Apache-2.0
//
// OverviewFile updates overview.json once per second, or less often so that building and writing it
// takes at most 2 % of the time, but at least once per minute. See docs/formats/overview.md.
//
// ERRORS: a failed write does not disturb the session. It is counted, and Warning() reports it at
// the end.
//
// THREADS: one caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/directory.h"
#include "model/overview.h"

namespace stemtap::session {

inline constexpr const char* kOverviewFileName = "overview.json";

class OverviewFile {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kMinPeriod{1000};
  // Minimum period as a multiple of the last write's duration.
  static constexpr int kTimesCost = 50;
  // Bounds the period if a write took long because the disk hung or the session was stopped.
  static constexpr std::chrono::milliseconds kMaxPeriod{60'000};

  // `describe` fills in everything except `period_ms`. `directory` must outlive the file.
  OverviewFile(const Directory& directory, std::function<void(model::Overview&)> describe)
      : directory_(directory), describe_(std::move(describe)) {}

  // Writes the file if an update is due.
  void Update() {
    if (Clock::now() >= due_) Write();
  }
  // Writes the file now.
  void Write();

  // Returns whether the last write succeeded.
  bool is_current() const { return is_current_; }
  // Returns the warning for session.json if a write failed, else an empty string.
  std::string Warning() const;

 private:
  void Fail(const char* why);

  const Directory& directory_;
  std::function<void(model::Overview&)> describe_;
  Clock::time_point due_{};
  Clock::duration cost_{};  // duration of the last write
  bool is_current_ = true;
  std::uint64_t failures_ = 0;
  std::string why_;  // reason of the last failure
};

}  // namespace stemtap::session
