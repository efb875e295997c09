// SPDX-License-Identifier: Apache-2.0
//
// PlanTwoPass computes a plan from a finished profile in two passes:
//
//   pass 1   adds durations to one sketch per kernel
//   between  designs the sample: strata, sizes, and the ranks that are sampled in each stratum
//   pass 2   collects the launches with those ranks
//
// Both passes stream: memory is O(kernels x bins + samples) for any length of the profile.
// SOURCE: docs/math/optimal.md, docs/math/root.md, docs/math/selection.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/result.h"
#include "model/plan.h"
#include "model/profile.h"
#include "sampling/sampling_options.h"

namespace stemtap::sampling {

// Opens the profile at its beginning. Called twice, or once if the reader supports Rewind.
using OpenReader = std::function<Result<std::unique_ptr<model::ProfileReader>>()>;

struct TwoPassPlan {
  model::Plan plan;                   // the caller sets source and options
  std::vector<std::string> warnings;  // the reader's
};

// The same profile, options, and seed give the same plan on every machine. Errors: the profile
// differs between the passes, or it contains no launch that is not excluded. `source` is the
// profile's name in error messages.
Result<TwoPassPlan> PlanTwoPass(const OpenReader& open, const std::string& source,
                                const SamplingOptions& options,
                                const ParallelFor& parallel = Serially);

}  // namespace stemtap::sampling
