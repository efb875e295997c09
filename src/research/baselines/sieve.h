// SPDX-License-Identifier: Apache-2.0
//
// Sieve stratifies each kernel's launches by their instruction count.
//
//   tier 1   the count never changes        one stratum
//   tier 2   CoV of the count < 0.4         one stratum
//   tier 3   otherwise                      divided at the valleys of the density until CoV < 0.4
//
// The representative is the first launch in launch order that has the stratum's most frequent CTA
// size. Its weight is the stratum's instructions / its own instructions, so the estimated total is
//
//   sum over strata of  instructions of the stratum / IPC of the representative.
//
// UNITS: method.h.  SOURCE: Naderan-Tahan, SeyyedAghaei and Eeckhout, Sieve (ISPASS 2023);
// docs/math/baselines.md lists the differences.
#pragma once

#include <memory>

#include "base/result.h"
#include "research/baselines/method.h"

namespace stemtap::research {

// The paper's theta. A larger value gives fewer and more mixed strata.
inline constexpr double kSieveTheta = 0.4;

// An error names the missing column: instructions, or CTA sizes if launches lack them.
Result<std::unique_ptr<PreparedMethod>> PrepareSieve(const MethodInput& input);

}  // namespace stemtap::research
