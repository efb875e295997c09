// SPDX-License-Identifier: Apache-2.0
//
// MeanChange is the relative change of a kernel's mean duration from one run to another, at equal
// shapes (grid and block), with a confidence interval that allows for correlated launches.
// SOURCE: docs/math/diff.md.
#pragma once

#include <cmath>
#include <cstdint>

#include "analysis/comparison/change_test.h"
#include "analysis/comparison/compared_run.h"

namespace stemtap::analysis {

// A kernel with fewer launches in a run has no interval.
inline constexpr std::uint64_t kMinComparedLaunches = 4;

// Why a change cannot be tested.
enum class Untested {
  kNone,         // the change is tested
  kNoTime,       // the kernel has 0 ns in a run
  kOtherShapes,  // less than half of the time of a run is in shapes that both runs have
  // Fewer than kMinComparedLaunches in a run; or a run has few slices, and their numbers of
  // launches differ too much from the other run's for an exact test.
  kFewLaunches,
  kFewSlices,  // launches in too few slices of a run
  kNoOrder,    // a run has no order of launches; the interval assumes independent launches
  kNoShapes,   // a run has no shapes, so the change may come from other shapes
};
inline constexpr const char* kUntestedNames[] = {
    "", "no time", "other shapes", "few launches", "few slices", "no order", "no shapes"};

struct MeanChange {
  double relative = NAN;  // of the mean at equal shapes; NaN: kNoTime or kOtherShapes
  // Mean durations at equal shapes, whose ratio is 1 + relative. NaN like `relative`, and for a
  // total.
  double equal_mean_a_ns = NAN;
  double equal_mean_b_ns = NAN;
  double of_mean = NAN;  // mean of B / mean of A - 1, including other shapes; NaN: kNoTime
  // Interval; NaN if it is not known. From -1 to infinity if a run has too few launches to exclude
  // any change.
  double lower = NAN;
  double upper = NAN;
  Untested untested = Untested::kNone;
  ChangeTest test = {};  // without spreads if there is no interval

  // Returns the p-value of the hypothesis that the change is at most `threshold` in either
  // direction, or NaN if the change is not tested.
  double P(double threshold) const { return untested == Untested::kNone ? test.P(threshold) : NAN; }
};

// Compares the mean durations. If a run does not contain shapes, all launches count as one shape.
MeanChange CompareMeans(const ComparedKernel& a, const ComparedKernel& b, double confidence);

// Compares the times of two runs. `a` and `b` contain the kernels that both runs have, as shapes of
// one kernel; `change` is the relative change of the whole time of the runs. Numbers of launches,
// and the kernels of one run, are exact: only durations have errors.
MeanChange CompareTotals(const ComparedKernel& a, const ComparedKernel& b, double change,
                         double confidence);

}  // namespace stemtap::analysis
