// SPDX-License-Identifier: Apache-2.0
//
// JoinStrata decides which captures represent a stratum that ended without a random capture:
//
//   1. The captures of a neighbor, if the means are close: the stratum joins the neighbor, and its
//      launches are estimated by the mean of the neighbor's captures.
//   2. Exploratory captures in the stratum itself, if they are close to its mean.
//   3. None: the stratum is uncovered, and its time is missing from the estimate.
//
// All durations are known, so the bias of each choice is known. The bound contains it linearly, not
// in quadrature:
//
//   bound = ( z sqrt( sum V ) + | sum of biases | + sum of uncovered time ) / total time
//
// If a stratum may join either neighbor, JoinStrata chooses the neighbor that brings the sum of
// biases, including uncovered time, closest to 0.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online-bound.md, "Empty strata".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "online/cluster.h"
#include "stats/moments.h"

namespace stemtap::online {

// SampledRange is a stratum and the captures in it.
struct SampledRange {
  stats::Moments launches;    // all launches that the captures are drawn from
  std::uint64_t samples = 0;  // random captures
  stats::Moments explored;    // exploratory captures; not part of `launches`
  // Launches and captures by period; empty: a single period.
  std::span<const ClusterPeriod> periods = {};
  std::uint64_t enough = 1;  // Decision::enough
};

// JointStratum is the launches of neighboring strata of one kernel, in consecutive periods, that
// the same captures represent.
struct JointStratum {
  std::size_t first = 0;  // strata [first, end)
  std::size_t end = 0;
  std::size_t home = 0;          // the stratum with the captures; the only one if uncovered
  std::size_t first_period = 0;  // periods [first_period, end_period)
  std::size_t end_period = 1;
  std::size_t home_period = 0;   // the period with the captures, unless uncovered or by_explored
  std::uint64_t samples = 0;     // 0: uncovered
  double independent = 0.0;      // independent samples with the same information
  stats::Moments all;            // of all launches except `explored`
  stats::Moments sampled;        // of the launches that the samples are drawn from
  stats::Moments other_periods;  // of the launches of `home` in other periods than home_period
  double bias_ns = 0.0;          // expected error of the estimate of the sum of `all`
  bool by_explored = false;

  bool covered() const { return samples > 0; }
};

// Maximum difference of the means, as a share of the stratum's mean, at which captures may
// represent another stratum. At 1, the bound is the same as if the stratum were uncovered. With
// smaller values, other metrics of the captures are more similar to the metrics of the stratum.
inline constexpr double kMaxJoinDifference = 0.5;

// Returns whether captures of the launches `substitute` may represent the launches of the stratum.
bool MayRepresent(const stats::Moments& stratum, const stats::Moments& substitute);

// Joins the strata of one kernel (ascending by mean), which have the same number of periods. The
// newest captures of a stratum that are together at least `enough`, in whole periods, are used. A
// period without used captures is represented by the latest period before it that has some, or
// otherwise by the first one after it. Every period of a stratum belongs to exactly one
// result; results are ascending by stratum, then by period. `bias_ns` is the sum of the biases so
// far minus the uncovered time so far; JoinStrata adds the values of this kernel.
std::vector<JointStratum> JoinStrata(std::span<const SampledRange> strata, double& bias_ns);

// Returns the variance of the estimate of the joint stratum's sum; 0 if it is uncovered.
double JointVariance(const JointStratum& joint);

}  // namespace stemtap::online
