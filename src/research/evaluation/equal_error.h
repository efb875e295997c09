// SPDX-License-Identifier: Apache-2.0
//
// Compares two methods at equal error: how much cheaper is the sample of one method if both have
// the same error? Methods that state different bounds, or whose errors are at different distances
// from their bounds, cannot be compared at the same `error_bound`. The bound of one method is
// therefore tuned until its p95 error equals the p95 error of the other method.
//
//   forward    `one` at the given error bound, `other` tuned to the p95 error of `one`
//   backward   `other` at the given error bound, `one` tuned to the p95 error of `other`
//   ratio      speedup of `one` / speedup of `other` in both cases; above 1: `one` is cheaper
//
// p95 and the sampled time change in steps (whole samples, different clusters), not always
// monotonically. `ratio` uses achievable points: the tuned method takes the cheapest of all bounds
// tried whose p95 is not larger than the target. This favors the fixed method by half a step on
// average, so the range from `ratio_low` to `ratio_high` also includes the cost of the tuned method
// without steps: interpolated on a straight line, in logarithms, to the next cheaper point. If
// steps are wide, the range is wide.
//
// A method saturates if no bound reaches the target p95: its error is smaller even with its fewest
// samples, or it reaches the target only when it samples everything. That direction then has no
// ratio.
//
// NOISE  p95 of R runs is itself random: with 95 % confidence it is between the order statistics
// 0.95 R +- 1.96 sqrt(0.95 0.05 R). `ratio_low` and `ratio_high` are computed with the target p95
// moved to either end of the combined intervals of both methods.
//
// SOURCE: docs/evaluation.md, "At equal error".
#pragma once

#include <cstdint>
#include <vector>

#include "research/evaluation/evaluate_method.h"

namespace stemtap::research {

// The result at one error bound.
struct TunedPoint {
  double error_bound = 0.0;
  double p95 = 0.0;
  double p95_low = 0.0;  // the order statistics on either side
  double p95_high = 0.0;
  double speedup = 0.0;
  std::uint64_t runs = 0;
};

enum class TuningEnd {
  kMet,          // the target p95 is between two bounds tried
  kAlwaysBelow,  // p95 is below the target even with the method's fewest samples
  kNeverBelow,   // p95 is above the target even at the tightest bound tried
};

struct Tuning {
  TunedPoint fixed;  // the method at the given bound
  TunedPoint tuned;  // the tuned method: the best point tried
  TuningEnd end = TuningEnd::kMet;
  double ratio = 0.0;  // of fixed and tuned; NaN if not kMet
  double ratio_low = 0.0;
  double ratio_high = 0.0;
};

struct EqualError {
  Tuning forward;
  Tuning backward;
  // The ratio of `forward`, or of `backward` if `forward` has none; NaN if both saturate.
  double ratio = 0.0;
  double ratio_low = 0.0;
  double ratio_high = 0.0;
};

// Returns the interpolated speedup at `p95`, without steps. `points` may be in any order. Sets
// `end`, and `tuned` unless it is null.
double SpeedupAt(const std::vector<TunedPoint>& points, double p95, TuningEnd& end,
                 TunedPoint* tuned = nullptr);

// Draws `runs` samples per bound tried (seeds from options.seed). If samples are so large that this
// would take minutes, draws fewer, but at least 2,000. An error names the method whose input is
// missing.
Result<EqualError> CompareAtEqualError(const EvaluatedRun& workload, const MethodEntry& one,
                                       const MethodEntry& other,
                                       const sampling::SamplingOptions& options,
                                       const BasicBlockVectors* vectors, std::uint64_t runs,
                                       WorkerPool& pool);

}  // namespace stemtap::research
