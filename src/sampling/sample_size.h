// SPDX-License-Identifier: Apache-2.0
//
// STEM's sample size for one cluster on its own.
//
//   m = max( ceil( (z sigma / (eps mu))^2 ), floor )
//
// The mean of m random draws of the cluster then lies within eps of mu with the confidence of z, as far
// as the central limit theorem holds. Worked number: mu 1000, sigma 40, eps 0.01, 90 % -> m = 44.
//
// DEVIATION from the paper: it prints min{..., 30}, its text means max. A cluster without spread gets
// one sample, not none, so its time stays in the estimate.
// SOURCE: STEM+ROOT (MICRO 2025) Eq. 3; docs/math/sample-size.md.
#pragma once

#include <cstdint>

namespace stemtap {

// m_floor of the paper's Gaussian assumption, used with ROOT.
inline constexpr std::uint64_t kFloorGaussian = 1;
// m_floor of the rule of thumb for the central limit theorem, used by STEM-only.
inline constexpr std::uint64_t kFloorClt = 30;

// Always at least 1, whatever the arguments; not capped by the cluster's size. A relative spread that
// asks for more than 2^62 samples (eps or mean of 0, infinite z) gives 2^62.
std::uint64_t SampleSize(double mean, double stddev, double error_bound, double z,
                         std::uint64_t floor = kFloorGaussian);

}  // namespace stemtap
