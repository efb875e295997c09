// SPDX-License-Identifier: Apache-2.0
//
// Timeline is the course of a run in at most 512 points: one whenever samples are allocated anew (each
// time that observations have grown by an eighth) and one for every second that passes, until there are
// too many. Then every other one is left out, and the time between two doubles: whatever the length of
// the run, its points are spread over all of it.
//
// THREADS: one caller.  UNITS: seconds since the run began.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/overview.h"
#include "online/online_sampler.h"

namespace stemtap {

class Timeline {
 public:
  explicit Timeline(std::function<double()> elapsed_s) : elapsed_s_(std::move(elapsed_s)) {}

  // What the next points say was dropped.
  void SetDropped(std::uint64_t dropped) { dropped_ = dropped; }

  void Add(const SamplerStatus& status);
  // Whether the last point is old: one more is due.
  bool Due() const;
  // Adds the last point, unless the run has been the same since the one before.
  void End(const SamplerStatus& status);

  double elapsed_s() const { return elapsed_s_(); }
  const std::vector<TimelinePoint>& points() const { return points_; }

 private:
  std::function<double()> elapsed_s_;
  std::uint64_t dropped_ = 0;
  double period_s_ = 1.0;
  std::vector<TimelinePoint> points_;
};

}  // namespace stemtap
