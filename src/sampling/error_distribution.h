// SPDX-License-Identifier: Apache-2.0
//
// ErrorQuantile computes a quantile of the error of a plain estimate: the sum, over strata, of the
// error of a random sample without replacement. All durations of the run are known, so the
// distribution of the error is known. It is computed on a grid, by multiplying the characteristic
// functions of the strata. Nothing is simulated, so rare misses are as accurate as frequent ones.
//
//   up to 16 samples     exact on the grid: the characteristic function of a sample without
//                        replacement follows from the one of a single draw by Newton's identities
//   more samples         each launch that moves the error noticeably is sampled independently with
//                        probability m/N; the rest is described by its cumulants
//   negligible strata    together a normal variable with the third and fourth cumulant
//
// A cell's durations are known by their mean and variance only. Where they lie within the cell is
// assumed to be as unfavorable as the width of the cell allows (Chebyshev's inequality for one
// draw), because clocks with a coarse tick put all durations of a cell on one or two values.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/certificate.md.
#pragma once

#include <cstdint>
#include <span>

#include "sampling/strata.h"
#include "stats/moments.h"

namespace stemtap::sampling {

// SampledStratum is a stratum and its number of samples.
struct SampledStratum {
  std::span<const stats::Moments> cells;  // of its durations, ascending; if empty, normal
  Stratum whole;
  std::uint64_t samples = 0;
  // Additional launches that the samples represent but were not drawn from.
  std::uint64_t joined_launches = 0;
};

// Returns the variance of the plain estimate of the stratum's sum: 0 if the stratum is sampled
// completely, +inf if it has launches and `samples` is 0.
double EstimateVariance(const Stratum& stratum, std::uint64_t samples);

// Returns an error that is exceeded with a probability of at most `miss`. The error is the absolute
// value of `bias_ns` plus the errors of all strata. The result is up to about 1.5 % above the
// smallest such error. If few samples are possible, rounding to the grid can add 6 % to `miss`. The
// result is +inf if a stratum with launches has no sample. REQUIRES: 0 < miss < 1.
double ErrorQuantile(std::span<const SampledStratum> strata, double bias_ns, double miss);

}  // namespace stemtap::sampling
