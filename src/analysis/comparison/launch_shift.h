// SPDX-License-Identifier: Apache-2.0
//
// LaunchShift is the relative change of the typical launch of a kernel: of the quartiles of its
// durations at equal shapes. A few very long launches make the mean uncertain, but not the
// quartiles. A shift is a statement about most launches, not about the mean or the total.
// SOURCE: docs/math/diff.md.
#pragma once

#include <array>
#include <cmath>

#include "analysis/comparison/change_test.h"
#include "analysis/comparison/compared_run.h"

namespace stemtap::analysis {

struct LaunchShift {
  // Of the lower quartile, the median and the upper quartile. Without spreads if not tested.
  std::array<ChangeTest, 3> quartiles = {};
  double relative = NAN;  // of the median; NaN if not tested
  double lower = NAN;     // interval of `relative`
  double upper = NAN;

  // Returns the p-value of the hypothesis that a quartile changed by at most `threshold`, or in
  // another direction than the median. NaN if not tested.
  double P(double threshold) const;
};

// Compares the quartiles of launches that are drawn from each slice. Not tested if a run has no
// single launches or no shapes, or launches in too few slices.
LaunchShift CompareLaunches(const ComparedKernel& a, const ComparedKernel& b, double confidence);

}  // namespace stemtap::analysis
