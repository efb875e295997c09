// SPDX-License-Identifier: Apache-2.0
//
// Two methods at equal error: what is the one's sample cheaper by, when both are equally wrong?
// Methods that state different bounds, or honour them differently, cannot be compared at the same
// `error_bound`; so the bound asked of one of them is tuned until its p95 error is the other's.
//
//   forward    `one` at the error bound given, the other tuned to its p95 error
//   backward   the other at the error bound given, `one` tuned to its
//   ratio      speedup of `one` / speedup of the other, either way; above 1: `one` is cheaper
//
// p95 and the sampled time go in steps (whole samples, other clusters), not always monotone.
// `ratio` is of what can be had: the tuned method takes the cheapest of all bounds tried whose p95
// is not larger. That favors the one that keeps its bound, by half a step on average, so
// `ratio_low` and `ratio_high` also hold what the tuned one would cost without steps: on the
// straight line, in logarithms, to the next sample that is cheaper. Where steps are wide they lie
// far apart.
//
// A method saturates where no bound asked for reaches the p95 wanted: it still errs less with the
// fewest samples that it ever takes, or is exact only when everything is taken. Then that direction
// has no ratio.
//
// NOISE  p95 of R runs is itself a draw: with 95 % confidence it lies between the order statistics
// 0.95 R +- 1.96 sqrt(0.95 0.05 R). `ratio_low` and `ratio_high` are taken with the p95 wanted
// moved to either end of both methods' intervals combined.
//
// SOURCE: docs/evaluation.md, "At equal error".
#pragma once

#include <cstdint>
#include <vector>

#include "research/evaluation/evaluate_method.h"

namespace stemtap {

// One error bound tried.
struct TunedPoint {
  double error_bound = 0.0;
  double p95 = 0.0;
  double p95_low = 0.0;  // the order statistics either side
  double p95_high = 0.0;
  double speedup = 0.0;
  std::uint64_t runs = 0;
};

enum class TuningEnd {
  kMet,          // the p95 wanted lies between two bounds tried
  kAlwaysBelow,  // with the fewest samples that the method ever takes, its p95 is still below
  kNeverBelow,   // not even the tightest bound tried brings p95 so low
};

struct Tuning {
  TunedPoint fixed;  // of the method that keeps its bound
  TunedPoint tuned;  // of the tuned one: the best point tried
  TuningEnd end = TuningEnd::kMet;
  double ratio = 0.0;  // of fixed and tuned; NaN when not kMet
  double ratio_low = 0.0;
  double ratio_high = 0.0;
};

struct EqualError {
  Tuning forward;
  Tuning backward;
  // That of `forward`, or where it has none, of `backward`; NaN when both saturate.
  double ratio = 0.0;
  double ratio_low = 0.0;
  double ratio_high = 0.0;
};

// The speedup at `p95` without steps, as above. `points` in any order. Sets `end`, and `tuned`
// when not null.
double SpeedupAt(const std::vector<TunedPoint>& points, double p95, TuningEnd& end,
                 TunedPoint* tuned = nullptr);

// `runs` draws per bound tried (seeds from options.seed); fewer, but at least 2,000, where samples
// are so many that they would take minutes. An error names the method whose input is missing.
Result<EqualError> CompareAtEqualError(const EvaluatedRun& workload, const MethodEntry& one,
                                       const MethodEntry& other, const SamplingOptions& options,
                                       const BasicBlockVectors* vectors, std::uint64_t runs,
                                       WorkerPool& pool);

}  // namespace stemtap
