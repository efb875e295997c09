// SPDX-License-Identifier: Apache-2.0
//
// SessionWatch follows the overview of one session. It reads, and reads again only what has changed; the
// session is not disturbed by it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/rate_window.h"
#include "model/overview_reader.h"

namespace stemtap::top {

enum class SessionState : std::uint8_t {
  kWaiting,  // no overview yet
  kRunning,  // or its last files are being written
  kEnded,
  kKilled,  // it says that it runs, is renewed no more, and its collector is gone
};

class SessionWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SessionWatch(std::string folder);

  // Looks whether there is something new; true if there is. What overview() gave before is gone then.
  bool Refresh(Clock::time_point now = Clock::now());

  const std::string& folder() const { return folder_; }
  SessionState state() const { return state_; }
  // The last overview that could be read; null before the first.
  const Overview* overview() const { return known_ ? &overviews_[current_] : nullptr; }
  // For how long it has not been renewed, in whole seconds; 0 where none is overdue.
  std::int64_t overdue_s() const { return overdue_s_; }
  // Launches per second: over the last two seconds, or what comes nearest; of a session that has ended, or
  // was killed, over all its time. NaN: not known.
  double launches_per_s() const;
  // Whether there is a plan.json.
  bool plan() const { return plan_; }
  // What is wrong with the file, or why there is none; empty: nothing.
  const std::string& problem() const { return problem_; }
  // The bytes of the last overview.
  std::string_view text() const { return reader_.text(); }

 private:
  bool Read(Clock::time_point now);  // whether the file is another one
  void Judge(Clock::time_point now);

  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;
    std::int64_t changed_s = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };

  std::string folder_;
  std::string path_;
  OverviewReader reader_;
  Overview overviews_[2];  // the last that could be read, and the one that is being read
  int current_ = 0;
  bool known_ = false;
  RateWindow rate_;  // of launches seen, on the session's own clock
  Stamp stamp_;
  Clock::time_point renewed_;  // when the file was seen to be another one; at first, its own time
  SessionState state_ = SessionState::kWaiting;
  std::int64_t overdue_s_ = 0;
  bool plan_ = false;
  std::string problem_;
};

// Whether the process `pid` has ended, or is another one that was started after `since_unix_ms`.
bool ProcessIsGone(std::int32_t pid, std::uint64_t since_unix_ms);

}  // namespace stemtap::top
