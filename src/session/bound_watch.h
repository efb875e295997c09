// SPDX-License-Identifier: Apache-2.0
//
// BoundWatch detects when a run has been observed for long enough: the error bound of the total, or
// of each range with --bound range, is met, and has stayed met until the launches have grown by an
// eighth, so that another allocation has confirmed it.
//
// THREADS: one caller.
#pragma once

#include <algorithm>
#include <cstdint>

#include "online/online_sampler.h"
#include "session/engine.h"

namespace stemtap::session {

class BoundWatch final : public EngineObserver {
 public:
  // Launches for which a bound must stay met in short runs.
  static constexpr std::uint64_t kMinStay = 1024;

  explicit BoundWatch(double error_bound) : error_bound_(error_bound) {}

  void OnAllocation(const online::SamplerStatus& status) override {
    if (!(status.scope_bound <= error_bound_) || status.captured == 0) {
      met_since_ = 0;
      return;
    }
    if (met_since_ == 0) met_since_ = status.observed;
    is_reached_ |= status.observed >= met_since_ + std::max(kMinStay, met_since_ / 8);
  }

  // Returns whether the bound was met for long enough since the last Reset.
  bool is_reached() const { return is_reached_; }
  void Reset() {
    met_since_ = 0;
    is_reached_ = false;
  }

 private:
  double error_bound_;
  std::uint64_t met_since_ = 0;  // launches observed when the bound was met; 0: it is not met
  bool is_reached_ = false;
};

}  // namespace stemtap::session
