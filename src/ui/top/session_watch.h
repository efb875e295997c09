// SPDX-License-Identifier: Apache-2.0
//
// SessionWatch follows the overview of one session. It only reads, and rereads only files that have
// changed, so it does not disturb the session.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/rate_window.h"
#include "model/overview_reader.h"

namespace stemtap::ui {

enum class SessionState : std::uint8_t {
  kWaiting,  // no overview yet
  kRunning,  // running, or writing its last files
  kEnded,
  kKilled,  // the overview's state is running, but it is not renewed and its collector is gone
};

// MEMBERS: the file, the two overviews that it is read into by turns, and the state that follows
// from them.
class SessionWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SessionWatch(std::string directory);

  // Checks for changes and returns whether there are any. Invalidates the previous overview().
  bool Refresh(Clock::time_point now = Clock::now());

  const std::string& directory() const { return directory_; }
  SessionState state() const { return state_; }
  // Returns the last readable overview; null before the first.
  const model::Overview* overview() const { return known_ ? &overviews_[current_] : nullptr; }
  // Returns how long the overview has not been renewed, in whole seconds; 0 if it is not overdue.
  std::int64_t overdue_s() const { return overdue_s_; }
  // Returns the launches per second over the last two seconds, or the closest available period. For
  // a session that ended or was killed, covers its whole time. NaN if unknown.
  double launches_per_s() const;
  // Returns whether a plan.json exists.
  bool plan() const { return plan_; }
  // Returns what is wrong with the file or why it is missing; empty if there is no problem.
  const std::string& problem() const { return problem_; }
  // Returns the bytes of the last overview.
  std::string_view text() const { return reader_.text(); }

 private:
  bool Read(Clock::time_point now);  // returns whether the file has changed
  void Judge(Clock::time_point now);

  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;
    std::int64_t changed_s = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };

  std::string directory_;
  std::string path_;
  model::OverviewReader reader_;
  model::Overview overviews_[2];  // the last readable overview, and the one being read
  int current_ = 0;
  bool known_ = false;
  RateWindow rate_;  // launches seen, on the session's clock
  Stamp stamp_;
  Clock::time_point renewed_;  // last change of the file; initially its modification time
  SessionState state_ = SessionState::kWaiting;
  std::int64_t overdue_s_ = 0;
  bool plan_ = false;
  std::string problem_;
};

// Returns whether the process `pid` has ended, or was replaced by one that started after
// `since_unix_ms`.
bool ProcessIsGone(std::int32_t pid, std::uint64_t since_unix_ms);

}  // namespace stemtap::ui
