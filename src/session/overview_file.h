// SPDX-License-Identifier: Apache-2.0
//
// OverviewFile keeps overview.json up to date: once a second, or less often, so that building and writing
// it take at most 2 % of the time, and at least once a minute. See docs/formats/overview.md.
//
// ERRORS: what cannot be written disturbs nobody: it is counted, and Warning() tells of it at the end.
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

namespace stemtap {

inline constexpr const char* kOverviewFileName = "overview.json";

class OverviewFile {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kLeastPeriod{1000};
  static constexpr int kTimesCost = 50;  // a period is so many times as long as writing takes
  // But no longer: a disk that hung, or a session that was stopped, while one was written is no reason to
  // be silent for hours.
  static constexpr std::chrono::milliseconds kMostPeriod{60'000};

  // `describe` fills in all but `period_ms`. `directory` must outlive the file.
  OverviewFile(const Directory& directory, std::function<void(Overview&)> describe)
      : directory_(directory), describe_(std::move(describe)) {}

  // Writes it if it is due.
  void Update() {
    if (Clock::now() >= due_) Write();
  }
  // Writes it now.
  void Write();

  // What session.json says when it could not be written, once or more; else empty.
  std::string Warning() const;

 private:
  void Fail(const char* why);

  const Directory& directory_;
  std::function<void(Overview&)> describe_;
  Clock::time_point due_{};
  Clock::duration cost_{};  // of the latest
  std::uint64_t failures_ = 0;
  std::string why_;  // of the latest failure
};

}  // namespace stemtap
