// SPDX-License-Identifier: Apache-2.0
//
// RateWindow computes the rate of a periodically read counter over the last two seconds. The window
// smooths counters that advance in steps, such as launches that arrive in batches; between two
// consecutive readings, their rate alternates between zero and a multiple of the true rate.
#pragma once

#include <cstdint>
#include <vector>

namespace stemtap {

class RateWindow {
 public:
  // If shorter, batches cause flicker. If longer, the displayed rate lags.
  static constexpr double kSeconds = 2.0;

  // Adds a reading at time `seconds` on any clock. A reading that is not later than the previous
  // one, or has a smaller count, restarts the window.
  void Add(double seconds, std::uint64_t count);

  // Returns counts per second over the shortest time between the last reading and an earlier one
  // that covers kSeconds, or over all readings if none does. Returns NaN before the second reading.
  double PerSecond() const;

 private:
  struct Reading {
    double seconds = 0.0;
    std::uint64_t count = 0;
  };
  // Ascending. All but the first are within kSeconds of the last.
  std::vector<Reading> readings_;
};

}  // namespace stemtap
