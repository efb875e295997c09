// SPDX-License-Identifier: Apache-2.0
#include "ui/top/session_watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "shm/session_env.h"
#include "ui/top/figures.h"

namespace stemtap::ui {
namespace {

// Process start times are accurate to one second, and clocks may be adjusted slightly.
constexpr std::int64_t kClockSlackSeconds = 5;
// Tolerated delay of an overview beyond its period, for a busy machine or disk.
constexpr std::chrono::seconds kSlack{1};

// Returns how long ago a file was written. The clock may have been adjusted or belong to another
// machine.
SessionWatch::Clock::duration AgeOf(const struct stat& about) {
  using std::chrono::system_clock;
  const auto written =
      std::chrono::seconds(about.st_mtim.tv_sec) + std::chrono::nanoseconds(about.st_mtim.tv_nsec);
  const auto age = system_clock::now().time_since_epoch() - written;
  return std::max(std::chrono::duration_cast<SessionWatch::Clock::duration>(age),
                  SessionWatch::Clock::duration::zero());
}

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads the start time (field 22 of /proc/<pid>/stat, in ticks since boot) and the state (field 3).
bool StartOf(std::int32_t pid, char& state, double& start_s) {
  const std::string text = FileText(fmt::format("/proc/{}/stat", pid));
  std::size_t at = text.rfind(')');  // the preceding name may contain any character
  if (at == std::string::npos || at + 2 >= text.size()) return false;
  state = text[at + 2];
  for (int field = 2; field < 22; ++field) {
    at = text.find(' ', at + 1);
    if (at == std::string::npos) return false;
  }
  const double ticks = std::strtod(text.c_str() + at, nullptr);
  start_s = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return true;
}

}  // namespace

bool ProcessIsGone(std::int32_t pid, std::uint64_t since_unix_ms) {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  char state = 0;
  double start_s = 0.0;
  if (!StartOf(pid, state, start_s)) return false;
  if (state == 'Z' || state == 'X') return true;
  if (since_unix_ms == 0) return false;
  const std::string machine = FileText("/proc/stat");
  const std::size_t at = machine.find("\nbtime ");
  if (at == std::string::npos) return false;
  const double boot_s = std::strtod(machine.c_str() + at + 7, nullptr);
  return boot_s + start_s > static_cast<double>(since_unix_ms) * 1e-3 + kClockSlackSeconds;
}

SessionWatch::SessionWatch(std::string directory)
    : directory_(std::move(directory)), path_(directory_ + "/overview.json"), reader_(false) {}

bool SessionWatch::Refresh(Clock::time_point now) {
  const SessionState state = state_;
  const std::int64_t overdue_s = overdue_s_;
  const bool plan = plan_;
  const std::string problem = problem_;
  bool changed = Read(now);
  Judge(now);
  // The collector may have written the last overview after the file check and before the process
  // check.
  if (state_ == SessionState::kKilled && state != SessionState::kKilled && Read(now)) {
    changed = true;
    Judge(now);
  }
  return changed || state_ != state || overdue_s_ != overdue_s || plan_ != plan ||
         problem_ != problem;
}

bool SessionWatch::Read(Clock::time_point now) {
  struct stat about = {};
  if (::stat(path_.c_str(), &about) != 0) {
    problem_ = fmt::format("{}: {}", path_, std::strerror(errno));
    if (::access((directory_ + "/" + shm::kSessionFileName).c_str(), F_OK) == 0) {
      problem_ += ": the session has ended without one";
    }
    stamp_ = {};
    return false;
  }
  const Stamp stamp = {about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec,
                       about.st_mtim.tv_nsec};
  if (stamp == stamp_) return false;
  renewed_ = now;
  if (stamp_ == Stamp{}) renewed_ -= AgeOf(about);
  stamp_ = stamp;
  model::Overview& next = overviews_[1 - current_];
  const Status read = reader_.Read(path_, next);
  if (!read.ok()) {
    problem_ = read.error().message;
    return true;
  }
  current_ = 1 - current_;
  known_ = true;
  rate_.Add(next.elapsed_s, next.seen);  // `observed` grows only by whole epochs
  problem_.clear();
  return true;
}

double SessionWatch::launches_per_s() const {
  if (!known_) return std::nan("");
  const model::Overview& o = overviews_[current_];
  const auto rate = [](double seconds, std::uint64_t from, std::uint64_t to) {
    const bool known = seconds > 0.0 && to >= from;
    return known ? static_cast<double>(to - from) / seconds : std::nan("");
  };
  if (state_ != SessionState::kRunning) return rate(RunSeconds(o), 0, o.observed);
  const double recent = rate_.PerSecond();
  if (!std::isnan(recent)) return recent;
  // Use the timeline for earlier data. In a run of hours, its points are minutes apart.
  model::TimelinePoint before;
  for (const model::TimelinePoint& point : o.timeline) {
    if (point.elapsed_s > o.elapsed_s - RateWindow::kSeconds) break;
    before = point;
  }
  return rate(o.elapsed_s - before.elapsed_s, before.observed, o.observed);
}

// While the overview is renewed, the session is running, whatever its pid means here. The pid may
// belong to another machine or container, and after a clock change the collector may appear to have
// started later than the session.
void SessionWatch::Judge(Clock::time_point now) {
  overdue_s_ = 0;
  if (!known_) return;
  const model::Overview& o = overviews_[current_];
  plan_ = ::access((directory_ + "/plan.json").c_str(), F_OK) == 0;
  state_ = SessionState::kRunning;
  if (o.ended) {
    if (plan_ || o.pid == 0 || ProcessIsGone(o.pid, o.started_unix_ms)) {
      state_ = SessionState::kEnded;
    }
    return;
  }
  const Clock::duration since = now - renewed_;
  if (since <= 2 * std::chrono::milliseconds(o.period_ms) + kSlack) return;
  if (ProcessIsGone(o.pid, o.started_unix_ms)) {
    state_ = SessionState::kKilled;
  } else {
    overdue_s_ = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  }
}

}  // namespace stemtap::ui
