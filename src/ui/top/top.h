// SPDX-License-Identifier: Apache-2.0
//
// Shows sessions on a terminal until the user quits, or prints their current state.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/wrap.h"
#include "model/row_view.h"

namespace stemtap::ui {

struct TopOptions {
  std::vector<std::string> directories;  // at least one
  double interval_s = 0.5;               // between two refreshes
  model::RowChoice rows = {};            // kernels to show
  std::size_t width = kUnlimitedWidth;   // of the lines of a snapshot
};

// Runs on the terminal until the user quits and returns the exit code, which is 128 + the signal
// that ended it. If there is no terminal, stores the snapshot in `snapshot` instead.
Result<int> Watch(const TopOptions& options, std::string& snapshot);

// Returns the current state of the sessions as plain text.
Result<std::string> SnapshotOf(const TopOptions& options);

// Returns the overview.json of the sessions unchanged; an array for several sessions.
Result<std::string> OverviewsOf(const TopOptions& options);

}  // namespace stemtap::ui
