// SPDX-License-Identifier: Apache-2.0
//
// TransferPlan re-expresses a plan for run A as a plan for run B: each sample becomes its partner in B.
//
// A sample is carried over only if both runs launch its kernel equally often on every device and its
// launch has a partner of the same kernel. Then the populations correspond one to one and the clusters'
// counts and weights hold for B as they stand. What is not carried over is an error or, with
// `drop_unmatched`, dropped: the rest of a cluster takes over its weight, and a cluster without any
// sample is uncovered.
//
// Durations and totals are those of B, counted anew; `bound` is NaN, since no bound was computed from
// B's durations. See docs/formats/align.md.
//
// UNITS: durations in ns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/alignment/alignment.h"
#include "base/result.h"
#include "model/plan.h"

namespace stemtap {

struct PlanTransferOptions {
  bool drop_unmatched = false;
  std::string plan_name;  // of the plan's file, for errors
  std::string source_b;   // of run B, for the new plan
};

struct DroppedSample {
  std::uint64_t index = 0;  // launch index in A
  std::string kernel;
  std::string reason;
};

struct PlanTransfer {
  Plan plan;
  std::vector<DroppedSample> dropped;
  std::vector<std::string> warnings;  // one line each on what of the new plan rests on A alone
};

// An error, listing them, when samples cannot be carried over and are not to be dropped, and when the
// plan is not one for run A.
Result<PlanTransfer> TransferPlan(const Plan& plan, const Run& a, const Run& b,
                                  const Alignment& alignment, const PlanTransferOptions& options);

}  // namespace stemtap
