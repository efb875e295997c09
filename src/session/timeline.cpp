// SPDX-License-Identifier: Apache-2.0
#include "session/timeline.h"

#include <spdlog/spdlog.h>

#include <cmath>
#include <cstddef>

namespace stemtap::session {

void Timeline::Add(const online::SamplerStatus& s) {
  points_.push_back({elapsed_s_(), s.observed, s.duration_ns, s.captured, s.captured_duration_ns,
                     s.clusters_open, s.observed == 0 ? NAN : s.bound, dropped_});
  spdlog::debug("{} launches, {} captured, {} clusters open, {} closed, bound {:.2f} %, {} dropped",
                s.observed, s.captured, s.clusters_open, s.clusters_closed, 100.0 * s.bound,
                dropped_);
  if (points_.size() <= model::Overview::kMaxPoints) return;
  // The number of points is odd, so the first and the latest point are kept.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
  points_.resize(kept);
  period_s_ *= 2.0;
}

bool Timeline::Due() const {
  return points_.empty() || elapsed_s_() - points_.back().elapsed_s >= period_s_;
}

void Timeline::End(const online::SamplerStatus& s) {
  const bool same = !points_.empty() && points_.back().observed == s.observed &&
                    points_.back().captured == s.captured && points_.back().bound == s.bound &&
                    points_.back().dropped == dropped_;
  if (!same) Add(s);
}

}  // namespace stemtap::session
