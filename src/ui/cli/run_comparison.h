// SPDX-License-Identifier: Apache-2.0
//
// Compares two runs that a command line names.
#pragma once

#include <string>

#include "analysis/comparison/run_diff.h"
#include "base/result.h"

namespace stemtap::ui {

// Compares run `b` with run `a`. Each is a session directory, a plan.json, or a recorded profile;
// at most one is "-", standard input. Shows the progress and the warnings of reads on stderr.
Result<analysis::RunDiff> CompareRuns(const std::string& a, const std::string& b,
                                      const analysis::DiffOptions& options);

}  // namespace stemtap::ui
