// SPDX-License-Identifier: Apache-2.0
//
// MergeSessions merges several session directories into one, which every command accepts like any
// other: one plan with an error bound for a job on several machines. See docs/design/merge.md.
//
// ERRORS: messages contain the session and what was expected. On an error no new directory remains.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "session/session_directory.h"

namespace stemtap::session {

struct MergeOutcome {
  model::Plan plan;
  std::string summary;  // content of summary.txt
  std::vector<std::string> warnings;
};

// `folders` are in rank order. None of them may be replaced as the `output`.
Result<MergeOutcome> MergeSessions(const std::vector<std::string>& folders,
                                   const std::string& output,
                                   SessionPlace place = SessionPlace::kNamed);

}  // namespace stemtap::session
