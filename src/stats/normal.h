// SPDX-License-Identifier: Apache-2.0
//
// Quantiles of the normal distribution, which convert a confidence to a number of standard errors.
// SOURCE: docs/math/certificate.md.
#pragma once

namespace stemtap::stats {

// Returns the quantile (inverse distribution function) of the standard normal distribution, with a
// relative accuracy of about 1e-15. -inf at 0, +inf at 1, NaN outside [0, 1].
double NormalQuantile(double probability);

// Returns z such that a standard normal variable is in [-z, z] with probability `confidence`
// (0.95 -> 1.959964). 0 for a confidence of 0 or less, +inf for 1 or more.
double TwoSidedZ(double confidence);

}  // namespace stemtap::stats
