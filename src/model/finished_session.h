// SPDX-License-Identifier: Apache-2.0
//
// FinishedSession is the content of a session directory: the plan with the cells of its clusters,
// the totals of the processes and devices, and the kernels over time. A plan.json alone is one too.
//
// ERRORS: each names the file, the position and what was expected.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/overview.h"
#include "model/plan.h"
#include "model/session.h"

namespace stemtap::model {

struct FinishedSession {
  Plan plan;
  bool has_cells = false;  // the clusters of `plan` have their cells
  // Empty for a plan.json without a session directory.
  std::optional<RecordedSession> session;
  std::optional<Overview> overview;
};

// Loads the session directory or the plan.json at `path`. Missing files of a session other than
// plan.json are not an error.
Result<FinishedSession> LoadFinished(const std::string& path);

}  // namespace stemtap::model
