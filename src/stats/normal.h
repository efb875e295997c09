// SPDX-License-Identifier: Apache-2.0
//
// The normal distribution: how many standard errors a confidence is worth.
// SOURCE: docs/math/certificate.md.
#pragma once

namespace stemtap {

// Quantile (inverse distribution function) of the standard normal, accurate to about 1e-15 relative.
// -inf at 0, +inf at 1, NaN outside [0, 1].
double NormalQuantile(double probability);

// z such that a standard normal lies in [-z, z] with probability `confidence` (0.95 -> 1.959964).
// 0 for a confidence of 0 or less, +inf for 1 or more.
double TwoSidedZ(double confidence);

}  // namespace stemtap
