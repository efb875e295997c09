// SPDX-License-Identifier: Apache-2.0
//
// RateWindow computes the rate of a counter that is read now and then, over the last two seconds. A
// counter that advances in steps, as launches do that arrive in batches, has a steady rate here and
// not one that alternates between zero and a multiple of it.
#pragma once

#include <cstdint>
#include <vector>

namespace stemtap {

class RateWindow {
 public:
  // Shorter: batches show as flicker. Longer: the rate lags behind what the user sees happen.
  static constexpr double kSeconds = 2.0;

  // A reading: `seconds` on any clock. A reading that is not later than the one before it, or that has
  // a smaller count, starts the window over.
  void Add(double seconds, std::uint64_t count);

  // Counts per second over the shortest time between two readings that covers kSeconds, or over all
  // readings if none does. NaN before the second reading.
  double PerSecond() const;

 private:
  struct Reading {
    double seconds = 0.0;
    std::uint64_t count = 0;
  };
  std::vector<Reading> readings_;  // ascending; all but the first are within kSeconds of the last
};

}  // namespace stemtap
