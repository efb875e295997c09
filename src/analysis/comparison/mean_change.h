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

// Why a change cannot be tested.
enum class Untested {
  kNone,         // the change is tested
  kNoTime,       // the kernel has 0 ns in a run
  kOtherShapes,  // less than half of the time of a run is in shapes that both runs have
  kFewLaunches,  // fewer than kMinComparedLaunches in a run
  kFewSlices,    // launches in too few slices of a run
  kNoOrder,      // a run has no order of launches; the interval assumes independent launches
  kNoShapes,     // a run has no shapes, so the change may come from other shapes
};
inline constexpr const char* kUntestedNames[] = {
    "", "no time", "other shapes", "few launches", "few slices", "no order", "no shapes"};

struct MeanChange {
  double relative = NAN;  // of the mean at equal shapes; NaN: kNoTime or kOtherShapes
  double of_mean = NAN;   // mean of B / mean of A - 1, including other shapes; NaN: kNoTime
  double lower = NAN;     // interval; NaN if there is none
  double upper = NAN;
  // Of the hypothesis that the change is at most the threshold in either direction; NaN if the
  // change is not tested.
  double p = NAN;
  Untested untested = Untested::kNone;
};

// Compares the mean durations. If a run does not contain shapes, all launches count as one shape.
// `threshold` is a relative change, 0 or more.
MeanChange CompareMeans(const ComparedKernel& a, const ComparedKernel& b, double confidence,
                        double threshold);

}  // namespace stemtap::analysis
