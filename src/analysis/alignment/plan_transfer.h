// SPDX-License-Identifier: Apache-2.0
//
// TransferPlan converts a plan for run A into a plan for run B: each sample is replaced by its
// partner in B.
//
// A sample is transferred only if both runs launch its kernel equally often on every device and its
// launch has a partner of the same kernel. The launches then correspond one to one, and the
// clusters' counts and weights are valid for B unchanged. A sample that cannot be transferred is an
// error. With `drop_unmatched` it is dropped: the other samples of its cluster get its weight, and
// a cluster without samples is uncovered.
//
// Durations and totals are recomputed from B. `bound` is NaN, because no bound was computed from
// the durations of B. See docs/formats/align.md.
//
// UNITS: durations in ns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/alignment/alignment.h"
#include "base/result.h"
#include "model/plan.h"

namespace stemtap::analysis {

struct PlanTransferOptions {
  bool drop_unmatched = false;
  std::string plan_name;  // file name of the plan, for errors
  std::string source_b;   // source of run B, for the new plan
};

struct DroppedSample {
  std::uint64_t index = 0;  // launch index in run A
  std::string kernel;
  std::string reason;
};

struct PlanTransfer {
  model::Plan plan;
  std::vector<DroppedSample> dropped;
  std::vector<std::string> warnings;  // parts of the new plan that are based on run A
};

// Errors: the plan is not for run A, or samples cannot be transferred and are not dropped; the
// message lists these samples.
Result<PlanTransfer> TransferPlan(const model::Plan& plan, const Run& a, const Run& b,
                                  const Alignment& alignment, const PlanTransferOptions& options);

}  // namespace stemtap::analysis
