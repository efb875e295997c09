// SPDX-License-Identifier: Apache-2.0
#include "base/rate_window.h"

#include <cmath>

namespace stemtap {

void RateWindow::Add(double seconds, std::uint64_t count) {
  if (!readings_.empty() &&
      (seconds <= readings_.back().seconds || count < readings_.back().count)) {
    readings_.clear();
  }
  readings_.push_back({seconds, count});
  while (readings_.size() > 2 && readings_[1].seconds <= seconds - kSeconds) {
    readings_.erase(readings_.begin());
  }
}

double RateWindow::PerSecond() const {
  if (readings_.size() < 2) return std::nan("");
  const Reading& from = readings_.front();
  const Reading& to = readings_.back();
  return static_cast<double>(to.count - from.count) / (to.seconds - from.seconds);
}

}  // namespace stemtap
