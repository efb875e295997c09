// SPDX-License-Identifier: Apache-2.0
//
// MergePlans merges the plans of several sessions into one. The launches of the sessions follow one
// another. Kernels with the same name and launch configuration become one kernel. Each cluster
// stays a cluster of its session, with the samples that were drawn from it, so the clusters are
// strata and their estimates add up.
//
//   certified bound = max( certificate over all clusters, sum of certified_i T_i / sum of T_i )
//   bound           = max( certified bound, observed error )
//
// The certificate assumes that sessions err independently. They may not: ranks of one job launch
// the same kernels, capture the same launches, and then err in the same direction. The second term
// bounds the error in that case. If the observed error of a session is unknown, the time-weighted
// mean of the sessions' stated bounds replaces the observed error.
//
// The totals and bounds do not depend on the order of the plans, or on whether some plans were
// merged before.
//
// SOURCE: docs/design/merge.md.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap::sampling {

// REQUIRES: at least one plan. Each plan lists its sessions (exactly one for the plan of a session)
// with their launches and devices, numbers its devices as a merged plan does, contains its cells,
// and has totals that match its clusters. Errors: a sum exceeds 64 bits, or there are too many
// devices. The caller sets the options and the source.
Result<model::Plan> MergePlans(std::vector<model::Plan> plans, double confidence);

}  // namespace stemtap::sampling
