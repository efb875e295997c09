// SPDX-License-Identifier: Apache-2.0
//
// Finds a session directory by its path, by one of its processes, or as the newest one. A directory
// is a session directory if it contains an overview.json or the ring of a traced process.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace stemtap::ui {

// FinderPlaces lists where to search for sessions. Tests override it.
struct FinderPlaces {
  std::string here = ".";  // searched to a depth of kMaxDepth
  // Contains stemtap-* sessions of programs without a current directory. Searched for pids only.
  std::string other = "/tmp";
  std::string proc = "/proc";  // maps running processes to their sessions
  uid_t user = ::geteuid();    // owner of the sessions to find, unless one is named by path
};

// Returns the session directory that `word` names: a directory, the overview.json in it, the pid of
// its collector, or the pid of a program that it traces or traced.
Result<std::string> FindSession(const std::string& word, const FinderPlaces& places = {});

enum class Newest : std::uint8_t {
  kEnded,         // among sessions that have ended
  kRunningFirst,  // among running sessions, or among all if none is running
};

// Returns the session directory below places.here, owned by places.user, that has the newest files.
// Does not follow symbolic links. Returns an error if there is none.
Result<std::string> NewestSession(Newest wanted, const FinderPlaces& places = {});

}  // namespace stemtap::ui
