// SPDX-License-Identifier: Apache-2.0
//
// MergePlans makes one plan of those of several sessions, whose launches it takes one session after
// the other. A kernel of one name is one kernel; its clusters stay those of the sessions, each with
// the samples that were drawn from it: strata, whose estimates add up.
//
//   certified bound = max( certificate over all clusters, sum of certified_i T_i / sum of T_i )
//   bound           = max( certified bound, observed error )
//
// The certificate holds if sessions err independently of each other. They may not: ranks of one job
// launch the same kernels, are captured at the same launches, and then err the same way. The second
// term is what their certified bounds come to in that case. If the observed error of a session is not
// known, the stated bounds of the sessions, weighted by time, take the place of the observed error.
//
// The numbers do not depend on the order of the plans, nor on whether some have been merged before.
//
// SOURCE: docs/design/merge.md.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap {

// REQUIRES: at least one plan; each with the sessions that it is of (one, where it is of a session),
// which tell its launches and devices, these numbered as those of a merged plan; with its cells; and
// with totals that are those of its clusters. Errors: sums that no 64-bit number holds, more devices
// than there are numbers for. Options and source are left to the caller.
Result<Plan> MergePlans(std::vector<Plan> plans, double confidence);

}  // namespace stemtap
