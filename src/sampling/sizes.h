// SPDX-License-Identifier: Apache-2.0
//
// Sample sizes of strata.
//
//   SampleSize   of one cluster alone, by STEM's equation
//   Allocate     of all strata under one error bound: the exact real-valued optimum, rounded up
//   SizeWhole    integer sizes under a variance budget
//
// AddSpreadPairs adds samples that show the spread of metrics other than time.
//
// SOURCE: docs/math/sample-size.md, docs/math/allocation.md, docs/math/optimal.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/strata.h"

namespace stemtap::sampling {

// SizingTerm is a stratum in the notation of Problem 1 (docs/math/allocation.md).
struct SizingTerm {
  double count = 0.0;     // N
  double cost = 0.0;      // a, of one sample: mu; for SizeWhole, plus the overhead
  double variance = 0.0;  // b: N^2 S^2, with S^2 = sigma^2 N / (N - 1)

  // Returns the variance of the estimate of the stratum's sum with `size` samples; 0 if size ==
  // count.
  double VarianceAt(double size) const { return variance * (1.0 / size - 1.0 / count); }
};

// m_floor under the paper's Gaussian assumption; used with ROOT.
inline constexpr std::uint64_t kFloorGaussian = 1;
// m_floor from the rule of thumb for the central limit theorem; used by STEM-only.
inline constexpr std::uint64_t kFloorClt = 30;

// SampleSize computes STEM's sample size for a single cluster.
//
//   m = max( ceil( (z sigma / (eps mu))^2 ), floor )
//
// The mean of m random draws from the cluster is then within eps of mu with the confidence of z, to
// the extent that the central limit theorem holds. For mu 1000, sigma 40, eps 0.01, and 90 %
// confidence, m is 44.
//
// DEVIATION from the paper: the paper prints min{..., 30} but its text describes max. A cluster
// without spread gets one sample instead of none, so that its time is part of the estimate.
// SOURCE: STEM+ROOT (MICRO 2025) Eq. 3; docs/math/sample-size.md.
//
// Returns at least 1 for any arguments. The result is not limited to the size of the cluster. If
// the relative spread requires more than 2^62 samples (eps or mean of 0, infinite z), returns 2^62.
std::uint64_t SampleSize(double mean, double stddev, double error_bound, double z,
                         std::uint64_t floor = kFloorGaussian);

enum class Population {
  kFinite,    // sampling without replacement: a stratum that is sampled completely has no error
  kInfinite,  // as in the paper: draws from an unlimited population
};

// AllocateReal finds the sample sizes with the minimum captured time (sum of m_i mu_i) whose joint
// error is within the bound.
//
//   minimize sum m_i mu_i   subject to   sum b_i / m_i <= c   and   lo_i <= m_i <= N_i
//   without correction:  b_i = N_i^2 sigma_i^2,  c = (eps sum N_i mu_i / z)^2
//   finite population:   b_i = N_i^2 S_i^2,      c = (eps sum N_i mu_i / z)^2 + sum N_i S_i^2
//
// The optimum is m_i = clamp(s sqrt(b_i / mu_i), lo_i, N_i) for a single s. The left side of the
// constraint decreases with s, and its pieces change only where a size reaches a limit. s is
// therefore found exactly among the sorted breakpoints, in O(n log n).
//
// DEVIATION from the paper: the paper prints sqrt(sum a_j b_j); the derivation gives the sum of
// square roots.
// SOURCE: STEM+ROOT (MICRO 2025) Problem 1; docs/math/allocation.md.
//
// Returns the real-valued optimum with min(min_samples, N_i) <= m_i <= N_i. If sampling every
// launch misses the bound (possible only without the correction), each stratum with spread gets its
// count.
std::vector<double> AllocateReal(std::span<const Stratum> strata, const ErrorTarget& target,
                                 Population population, std::uint64_t min_samples = 1);

// Rounds the result of AllocateReal up. The sizes meet the bound and exceed the optimum by at most
// one sample per stratum. An empty stratum gets 0 samples.
std::vector<std::uint64_t> Allocate(std::span<const Stratum> strata, const ErrorTarget& target,
                                    Population population, std::uint64_t min_samples = 1);

// SizeWhole computes integer sample sizes for given strata under a variance budget. It starts from
// the real-valued optimum rounded down, adds the samples that reduce variance most per ns, and then
// removes samples that the budget does not need, the most expensive first. Rounding every size up
// instead costs up to one sample per stratum, which is most of the sample if the bound is loose.
//
// Sets `sizes`, with min(floor, N) <= m <= N, and returns the sum of m x cost. Returns +inf if
// sampling every launch misses the budget, which is possible only through rounding.
double SizeWhole(std::span<const SizingTerm> terms, double budget, double floor,
                 std::vector<double>& sizes);

// Number of narrow clusters with several samples that is enough. Student's quantile at 95 % is then
// at most 1.08 times the normal quantile; 8 clusters: 1.18 times.
inline constexpr std::size_t kSpreadPairs = 16;

// Returns whether a cluster is narrow: the values of wide clusters differ because of their
// durations, and their residuals do not describe narrow clusters.
bool IsNarrow(double mean_ns, double stddev_ns);

// AddSpreadPairs buys knowledge about metrics other than time: second samples in narrow clusters.
// The spread of durations is known, so a plan for time has one sample in most clusters. The spread
// of another metric is only visible in clusters with several samples, and without it extrapolate
// can give only a very wide interval, or none.
//
// SOURCE: docs/math/optimal.md, "Pairs".
//
// Adds a second sample to the cheapest narrow clusters with a single sample, until enough clusters
// have several samples or the added samples would cost more than a limited share of what the plan
// costs. `fixed_ns` is the cost of a sample besides its duration (CapturePrice::FixedPerFactor).
// Returns the number of added samples. `kernels`: strata by kernel, with their sizes.
std::size_t AddSpreadPairs(std::span<std::vector<StratumRange>> kernels, double fixed_ns = 0.0);

}  // namespace stemtap::sampling
