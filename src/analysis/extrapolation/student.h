// SPDX-License-Identifier: Apache-2.0
//
// Student's t distribution: the number of standard errors for a confidence when the error itself is
// estimated from few samples. SOURCE: docs/math/extrapolate.md.
#pragma once

namespace stemtap::analysis {

// Returns P(|t| <= x) for `degrees` of freedom, not necessarily an integer. REQUIRES: degrees > 0,
// x >= 0.
double StudentWithin(double x, double degrees);

// Returns x such that P(|t| <= x) = confidence (0.95, 2 degrees -> 4.302653). Approaches TwoSidedZ
// for many degrees. Returns 0 if confidence <= 0, and +inf if confidence >= 1 or degrees <= 0.
double StudentQuantile(double confidence, double degrees);

}  // namespace stemtap::analysis
