// SPDX-License-Identifier: Apache-2.0
//
// A weight is the number of launches of its cluster that a sample represents.
//
//   plain        w = N / m
//   calibrated   w = N / m * mu / (mean of the captured)      (ratio estimator)
//
// Plain weights are unbiased for a random sample. Calibrated weights reproduce the known total
// duration exactly for any sample, and are close for metrics that are nearly proportional to
// duration.
// SOURCE: Deville & Saerndal 1992; docs/math/weights.md.
#pragma once

#include <cstdint>

namespace stemtap::sampling {

enum class Weights { kCalibrated, kPlain };

// Returns 0 if nothing was captured.
inline double PlainWeight(std::uint64_t count, std::uint64_t captured) {
  return captured == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(captured);
}

// Returns the plain weight if the captured durations sum to 0 (a profiler may round them to 0).
inline double CalibratedWeight(std::uint64_t count, double mean, std::uint64_t captured,
                               double captured_mean) {
  const double plain = PlainWeight(count, captured);
  return captured_mean > 0.0 ? plain * (mean / captured_mean) : plain;
}

}  // namespace stemtap::sampling
