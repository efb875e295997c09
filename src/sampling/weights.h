// SPDX-License-Identifier: Apache-2.0
//
// Weights: how many invocations of its cluster a captured one stands for.
//
//   plain        w = N / m
//   calibrated   w = N / m * mu / (mean of the captured)      (ratio estimator)
//
// Plain weights are unbiased for a random sample. Calibrated ones reproduce the known total duration
// exactly, whatever was captured, and so carry most of the way to any metric that follows duration.
// SOURCE: Deville & Saerndal 1992; docs/math/weights.md.
#pragma once

#include <cstdint>

namespace stemtap {

enum class Weights { kCalibrated, kPlain };

// 0 when nothing was captured.
inline double PlainWeight(std::uint64_t count, std::uint64_t captured) {
  return captured == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(captured);
}

// Falls back to the plain weight where the captured durations sum to 0 (a profiler's rounding).
inline double CalibratedWeight(std::uint64_t count, double mean, std::uint64_t captured,
                               double captured_mean) {
  const double plain = PlainWeight(count, captured);
  return captured_mean > 0.0 ? plain * (mean / captured_mean) : plain;
}

}  // namespace stemtap
