// SPDX-License-Identifier: Apache-2.0
//
// SampledRun is a plan with what its session directory adds: the cells of the clusters, the totals
// of the processes and devices, and the kernels over time.
//
// ERRORS: each names the file, the position and what was expected.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/overview.h"
#include "model/plan.h"
#include "model/session.h"

namespace stemtap::analysis {

struct SampledRun {
  model::Plan plan;
  bool has_cells = false;  // the clusters of `plan` have their cells
  // Empty for a plan.json without a session directory.
  std::optional<model::RecordedSession> session;
  std::optional<model::Overview> overview;
};

// Loads the session directory or the plan.json at `path`. Missing files of a session other than
// plan.json are not an error.
Result<SampledRun> LoadSampledRun(const std::string& path);

}  // namespace stemtap::analysis
