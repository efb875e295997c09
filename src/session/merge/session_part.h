// SPDX-License-Identifier: Apache-2.0
//
// SessionPart is one of the sessions to be merged: what its folder holds, looked through. What does not
// add up is damaged, and an error.
//
// UNITS: ns, as the plan. MEMORY: that of the files but for the mask, which is left where it is.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/overview.h"
#include "model/plan.h"
#include "model/session_reader.h"

namespace stemtap {

using Json = SessionJson;

struct SessionPart {
  std::string path;  // as it was given, fit to be shown
  // With its cells, and with the sessions it is of: one, or those that it was merged of. Devices are
  // numbered as a merged plan's.
  Plan plan;
  Json session;                      // session.json
  std::optional<Overview> overview;  // none: overview.json could not be written
  std::string mask;                  // its path; empty: there is none
};

// Whether `folder` holds a session that has ended. Reads nothing.
Status CheckEnded(const std::string& folder);

// Errors: files of other versions or of different sessions, damaged ones. REQUIRES: CheckEnded(folder).
Result<SessionPart> LoadSessionPart(const std::string& folder);

}  // namespace stemtap
