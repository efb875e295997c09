// SPDX-License-Identifier: Apache-2.0
//
// Watches sessions on a terminal until its user has seen enough, or prints what they are at now.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace stemtap::top {

struct TopOptions {
  std::vector<std::string> folders;  // at least one
  double interval_s = 0.5;           // between two looks at the sessions
};

// Fills the terminal; the exit code, 128 + the signal that ended it. Where there is no terminal to fill,
// the snapshot is left in `snapshot` instead.
Result<int> Watch(const TopOptions& options, std::string& snapshot);

// What the sessions are at now, as plain text.
Result<std::string> SnapshotOf(const TopOptions& options);

// Their overview.json as they are, of several an array of them.
Result<std::string> OverviewsOf(const TopOptions& options);

}  // namespace stemtap::top
