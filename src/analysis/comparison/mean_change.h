// SPDX-License-Identifier: Apache-2.0
//
// MeanChange is the relative change of a kernel's mean duration from one run to another, at equal
// shapes (grid and block), with a confidence interval that allows for correlated launches.
// SOURCE: docs/math/diff.md.
#pragma once

#include <cmath>
#include <cstdint>

#include "analysis/comparison/compared_run.h"

namespace stemtap::analysis {

// A kernel with fewer launches in a run has no interval.
inline constexpr std::uint64_t kMinComparedLaunches = 4;

struct MeanChange {
  double relative = NAN;  // of the mean at equal shapes; NaN if a mean is 0 or no shape is common
  double of_mean = NAN;   // mean of B / mean of A - 1, including other shapes
  double lower = NAN;     // interval; NaN if there is none
  double upper = NAN;
  double p = NAN;  // of the hypothesis that the change is at most the threshold in either direction
  bool assumes_independence = false;  // a run has no batches of this kernel
};

// Compares the mean durations. If a run does not contain shapes, all launches count as one shape.
// If less than half of the time of either run is in common shapes, there is no change. There is no
// interval if the kernel has fewer than kMinComparedLaunches in a run, or if a session contains
// them in too few time slices. `threshold` is a relative change, 0 or more.
MeanChange CompareMeans(const ComparedKernel& a, const ComparedKernel& b, double confidence,
                        double threshold);

}  // namespace stemtap::analysis
