// SPDX-License-Identifier: Apache-2.0
//
// SessionPart is one of the sessions to merge: the checked contents of its directory. Inconsistent
// files are an error.
//
// UNITS: ns, as in the plan. MEMORY: the size of the files, except the mask, which is not loaded.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/overview.h"
#include "model/plan.h"
#include "model/session.h"

namespace stemtap::session {

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

}  // namespace stemtap::session
