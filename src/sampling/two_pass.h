// SPDX-License-Identifier: Apache-2.0
//
// The two-pass plan, from a finished profile:
//
//   pass 1   durations go into one sketch per kernel
//   between  the sample is designed: strata, sizes, and which ranks of each stratum are taken
//   pass 2   the invocations of those ranks are picked up as they come by
//
// Both passes stream: memory is O(kernels x bins + samples), whatever the length of the profile.
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
#include "model/profile_reader.h"
#include "sampling/sampling_options.h"

namespace stemtap {

// Opens the profile from its beginning; called twice, once where the reader can start over.
using OpenReader = std::function<Result<std::unique_ptr<ProfileReader>>()>;

struct TwoPassPlan {
  Plan plan;                          // source and options are the caller's to fill in
  std::vector<std::string> warnings;  // the reader's
};

// The same profile, options and seed give the same plan, on every machine. A profile that is not
// the same in both passes is an error, and so is one without invocations (`source` names it in the
// message).
Result<TwoPassPlan> PlanTwoPass(const OpenReader& open, const std::string& source,
                                const SamplingOptions& options,
                                const ParallelFor& parallel = Serially);

}  // namespace stemtap
