// SPDX-License-Identifier: Apache-2.0
//
// TopUpPlan adds samples to a two-pass plan, so that the results of its samples stay useful. The
// clusters stay as they are. An added sample is drawn at random from the launches of its cluster
// that have no sample, so all samples of the cluster are still a random sample of it.
//
// MEMORY: O(kernels x bins + samples), one pass.  SOURCE: docs/math/optimal.md, "Top-ups".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "sampling/two_pass.h"

namespace stemtap::sampling {

struct TopUp {
  // Added samples, by kernel and cluster of the plan.
  std::vector<std::vector<std::uint64_t>> samples;
  std::uint64_t count = 0;    // their sum
  std::uint64_t second = 0;   // of these: second samples of a cluster
  double duration_ns = 0.0;   // expected time of the added samples
  std::uint64_t several = 0;  // narrow clusters with several samples after the top-up
};

// Returns why samples cannot be added to a plan; empty if they can.
std::string WhyNoTopUp(const model::Plan& plan);

// Returns what to add to a plan so that intervals can be given: a sample of each cluster without
// one, unless it is uncovered by choice, and second samples of the cheapest narrow clusters until
// kSpreadPairs clusters have several (sizes.h).
TopUp TopUpOf(const model::Plan& plan);

// Returns `plan` with TopUpOf(plan) added. Errors: nothing is to be added; WhyNoTopUp; the profile
// is not the run of the plan. `plan_name` and `source` are the names of plan and
// profile in error messages.
Result<TwoPassPlan> TopUpPlan(const model::Plan& plan, const std::string& plan_name,
                              const OpenReader& open, const std::string& source,
                              std::uint64_t seed);

}  // namespace stemtap::sampling
