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
#include <vector>

#include "base/directory.h"
#include "model/overview.h"
#include "online/online_sampler.h"
#include "session/engine.h"

namespace stemtap::session {

// Timeline records the progress of a run in at most 512 points. It adds a point for each new sample
// allocation (whenever the observations have grown by an eighth) and for each second. When there
// are too many points, every other point is removed and the interval doubles, so that the points
// always cover the whole run.
//
// THREADS: one caller.  UNITS: seconds since the run began.
class Timeline final : public EngineObserver {
 public:
  explicit Timeline(std::function<double()> elapsed_s) : elapsed_s_(std::move(elapsed_s)) {}

  // Sets the dropped count of the following points.
  void SetDropped(std::uint64_t dropped) { dropped_ = dropped; }

  void Add(const online::SamplerStatus& status);
  void OnAllocation(const online::SamplerStatus& status) override { Add(status); }
  // Returns whether the last point is older than the interval.
  bool Due() const;
  // Adds the last point, unless nothing has changed since the previous one.
  void End(const online::SamplerStatus& status);

  double elapsed_s() const { return elapsed_s_(); }
  const std::vector<model::TimelinePoint>& points() const { return points_; }

 private:
  std::function<double()> elapsed_s_;
  std::uint64_t dropped_ = 0;
  double period_s_ = 1.0;
  std::vector<model::TimelinePoint> points_;
};

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
