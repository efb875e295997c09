// SPDX-License-Identifier: Apache-2.0
//
// How a session gets its directory, and how its results are written into it. See
// docs/formats/session.md.
#pragma once

#include <cstdint>
#include <string>

#include "base/directory.h"
#include "base/result.h"
#include "model/plan.h"

namespace stemtap::session {

// The socket of session/control.h.
inline constexpr const char* kControlFileName = "control";
// The checkpoint of session/checkpoint.h.
inline constexpr const char* kCheckpointFileName = "checkpoint";

// The session that is merged from all runs of a job, in the session of the run that merges them
// (--fleet auto).
inline constexpr const char* kJobDirectoryName = "job";

enum class SessionPlace : std::uint8_t {
  kNamed,     // named by the user; must be new or empty
  kReplaced,  // named by the user; a session in it that has ended is removed (--force)
  kDefault,   // default name; must be new, with -2 and so on appended if it is taken
  kExisting,  // created by an injected library that waits for its collector
  kClaimed,   // of a session whose collector was killed
};

// Creates or opens the directory of a session, and claims it by creating the mask in it: of several
// processes that want the same directory, one succeeds.
Result<Directory> ClaimSession(const std::string& path, SessionPlace place);

// Returns where a command puts its session: in the directory that the user named, if any.
constexpr SessionPlace PlaceOf(bool is_named, bool force) {
  if (!is_named) return SessionPlace::kDefault;
  return force ? SessionPlace::kReplaced : SessionPlace::kNamed;
}

// Removes the rings of process `pid` and the directory, unless a collector has claimed it: nothing
// would read these rings, and each takes at least 17 MiB. For a collector that the injected library
// of this process started and that could not begin its session.
void RemoveUnclaimed(const std::string& path, std::uint64_t pid);

// Returns whether a collector may still write into the directory: its newest file is at most a few
// seconds old.
bool WasWrittenRecently(const Directory& directory);

// Returns the name of the directory of window `number` in the directory of its session.
std::string WindowName(std::uint32_t number);
// Removes a window from the directory of its session. Fails if it contains other files.
Status RemoveWindow(const Directory& session, const std::string& name);

// Writes plan.json, session.json, summary.txt and cells.json.
Status WriteResults(const Directory& directory, const model::Plan& plan,
                    const std::string& session_json, const std::string& summary);

}  // namespace stemtap::session
