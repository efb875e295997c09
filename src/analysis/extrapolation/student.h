// SPDX-License-Identifier: Apache-2.0
//
// Student's t distribution: how many standard errors a confidence is worth when the error is itself
// estimated from few samples. SOURCE: docs/math/extrapolate.md.
#pragma once

namespace stemtap {

// P(|t| <= x) with `degrees` of freedom, not necessarily whole. REQUIRES: degrees > 0, x >= 0.
double StudentWithin(double x, double degrees);

// x such that P(|t| <= x) = confidence (0.95, 2 degrees -> 4.302653). Tends to TwoSidedZ for many
// degrees. 0 for a confidence of 0 or less, +inf for 1 or more and for degrees of 0 or less.
double StudentQuantile(double confidence, double degrees);

}  // namespace stemtap
