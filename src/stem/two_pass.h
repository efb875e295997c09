// SPDX-License-Identifier: Apache-2.0
//
// The two-pass plan: with a finished profile in hand, strata are cut on the exact durations and the
// sample is drawn at random, without replacement, from all of each stratum.
// SOURCE: docs/maths/root.md, docs/maths/allocation.md.
#pragma once

#include "stem/sampling_options.h"
#include "trace/plan.h"
#include "trace/profile.h"

namespace stemtap {

// The same profile, options and seed give the same plan, on every machine.
Plan PlanTwoPass(const Profile& profile, const SamplingOptions& options);

}  // namespace stemtap
