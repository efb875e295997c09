// SPDX-License-Identifier: Apache-2.0
#include "session/overview_file.h"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace stemtap::session
