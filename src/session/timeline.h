// SPDX-License-Identifier: Apache-2.0
//
// Timeline records the progress of a run in at most 512 points. It adds a point for each new sample
// allocation (whenever the observations have grown by an eighth) and for each second. When there
// are too many points, every other point is removed and the interval doubles, so that the points
// always cover the whole run.
//
// THREADS: one caller.  UNITS: seconds since the run began.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/overview.h"
#include "online/online_sampler.h"
#include "session/engine_observer.h"

namespace stemtap::session {

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

}  // namespace stemtap::session
