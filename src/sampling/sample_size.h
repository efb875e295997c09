// SPDX-License-Identifier: Apache-2.0
//
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
#pragma once

#include <cstdint>

namespace stemtap::sampling {

// m_floor under the paper's Gaussian assumption; used with ROOT.
inline constexpr std::uint64_t kFloorGaussian = 1;
// m_floor from the rule of thumb for the central limit theorem; used by STEM-only.
inline constexpr std::uint64_t kFloorClt = 30;

// Returns at least 1 for any arguments. The result is not limited to the size of the cluster. If
// the relative spread requires more than 2^62 samples (eps or mean of 0, infinite z), returns 2^62.
std::uint64_t SampleSize(double mean, double stddev, double error_bound, double z,
                         std::uint64_t floor = kFloorGaussian);

}  // namespace stemtap::sampling
