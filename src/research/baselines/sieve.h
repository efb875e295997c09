// SPDX-License-Identifier: Apache-2.0
//
// Sieve: each kernel's invocations are stratified by their instruction count.
//
//   tier 1   the count never changes        one stratum
//   tier 2   CoV of the count < 0.4         one stratum
//   tier 3   more                           divided at the valleys of its density, until below
//
// The representative is the first invocation in launch order that has the stratum's most frequent
// CTA size. Its weight is the stratum's instructions / its own, which makes the estimated total
//
//   sum over strata of  instructions of the stratum / IPC of the representative.
//
// UNITS: method.h.  SOURCE: Naderan-Tahan, SeyyedAghaei and Eeckhout, Sieve (ISPASS 2023);
// docs/math/baselines.md says where this differs.
#pragma once

#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap {

// The paper's theta: larger is fewer and more mixed strata.
inline constexpr double kSieveTheta = 0.4;

// An error names the column that is missing: instructions, or CTA sizes where launches lack them.
Result<std::unique_ptr<PreparedMethod>> PrepareSieve(const MethodInput& input);

}  // namespace stemtap
