// SPDX-License-Identifier: Apache-2.0
//
// MergeSessions makes one session folder of several, which every command takes as any other: one plan
// for a job of several machines, with its bound. Why it is made as it is: docs/design/merge.md.
//
// ERRORS: which session, what was expected. On an error no folder is left behind.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap {

struct MergeOutcome {
  Plan plan;
  std::string summary;  // what summary.txt holds
  std::vector<std::string> warnings;
};

// `folders` in the order of their ranks. `output` must be new or empty.
Result<MergeOutcome> MergeSessions(const std::vector<std::string>& folders,
                                   const std::string& output);

}  // namespace stemtap
