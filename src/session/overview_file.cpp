// SPDX-License-Identifier: Apache-2.0
#include "session/overview_file.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>

#include "base/text.h"

namespace stemtap::session {

namespace {

std::uint32_t Milliseconds(OverviewFile::Clock::duration period) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(period).count());
}

}  // namespace

void OverviewFile::Write() {
  const Clock::time_point begin = Clock::now();
  is_current_ = true;
  const auto period = [this](Clock::duration cost) {
    return std::clamp<Clock::duration>(kTimesCost * std::max(cost_, cost), kMinPeriod, kMaxPeriod);
  };
  try {
    model::Overview overview;
    describe_(overview);
    // Assume that writing takes as long as the last time.
    overview.period_ms = Milliseconds(period(Clock::now() - begin));
    const Status written = directory_.Replace(kOverviewFileName, model::OverviewToJson(overview));
    if (!written.ok()) Fail(written.error().message.c_str());
  } catch (const std::bad_alloc&) {
    // The overview is optional, so the session continues. Memory allocated here has been freed.
    Fail("out of memory");
  }
  const Clock::time_point end = Clock::now();
  cost_ = end - begin;
  due_ = end + period(cost_);
}

void OverviewFile::Fail(const char* why) {
  is_current_ = false;
  ++failures_;
  try {
    why_ = why;
  } catch (const std::bad_alloc&) {
    why_.clear();
  }
}

std::string OverviewFile::Warning() const {
  if (failures_ == 0) return {};
  return fmt::format("{} could not be written {}, the last time: {}", kOverviewFileName,
                     Plural(failures_, "time"), why_);
}

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
