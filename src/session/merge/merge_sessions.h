// SPDX-License-Identifier: Apache-2.0
//
// MergeSessions merges several session directories into one, which every command accepts like any
// other: one plan with an error bound for a job on several machines. See docs/design/merge.md.
//
// ERRORS: messages contain the session and what was expected. On an error no new directory remains.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/overview.h"
#include "model/plan.h"
#include "model/session.h"
#include "session/session_directory.h"

namespace stemtap::session {

// SessionPart is one of the sessions to merge: the checked contents of its directory. Inconsistent
// files are an error.
//
// UNITS: ns, as in the plan. MEMORY: the size of the files, except the mask, which is not loaded.
struct SessionPart {
  std::string path;  // as given, escaped for display
  // Includes its cells and its sessions: itself, or the sessions that it was merged from. Devices
  // are numbered as in a merged plan.
  model::Plan plan;
  model::RecordedSession session;
  std::optional<model::Overview> overview;  // empty if overview.json could not be written
  std::string mask;                         // path of the mask; empty: none
};

// Fails unless `folder` contains a session that has ended. Reads no file contents.
Status CheckEnded(const std::string& folder);

// Fails on files of other versions or of different sessions, and on damaged files. REQUIRES:
// `CheckEnded(folder)`.
Result<SessionPart> LoadSessionPart(const std::string& folder);

struct MergeOutcome {
  model::Plan plan;
  std::string summary;  // content of summary.txt
  std::vector<std::string> warnings;
  std::vector<std::string> job_warnings;  // JobParts::warnings, which the summary contains
};

// Replaces the plan of merged sessions by another plan of the same launches.
using PoolPlans = std::function<Result<model::Plan>(const model::Plan& merged)>;

// JobParts is what the merged session of a job has besides its sessions.
struct JobParts {
  PoolPlans pool;                     // null: the plans are merged
  std::vector<std::string> warnings;  // of the merged session
};

// `folders` are in rank order. None of them may be replaced as the `output`.
Result<MergeOutcome> MergeSessions(const std::vector<std::string>& folders,
                                   const std::string& output,
                                   SessionPlace place = SessionPlace::kNamed,
                                   const JobParts& job = {});

}  // namespace stemtap::session
