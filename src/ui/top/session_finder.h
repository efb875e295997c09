// SPDX-License-Identifier: Apache-2.0
//
// Which session directory somebody means: by its path, by a process of it, or the newest there is.
// A directory counts as a session's if it holds an overview.json, or a ring of a traced process.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace stemtap::top {

// Where sessions are looked for. Tests give others.
struct FinderPlaces {
  std::string here = ".";  // and the directories below, kMostDepth deep
  // Where programs without a current directory leave their sessions: stemtap-*. For pids only.
  std::string other = "/tmp";
  std::string proc = "/proc";  // of processes that run, the session that they are part of
  uid_t user = ::geteuid();    // whose sessions count where none is named by its path
};

// The directory of the session that `word` names: a directory (or the overview.json in it), the pid of its
// collector or of a program that it traces or traced.
Result<std::string> FindSession(const std::string& word, const FinderPlaces& places = {});

enum class Newest : std::uint8_t {
  kEnded,         // of the sessions that have ended
  kRunningFirst,  // of the sessions that run; if none does, of all
};

// The session directory below places.here, owned by places.user, whose files are the newest. Symbolic
// links are not followed. An error if there is none.
Result<std::string> NewestSession(Newest wanted, const FinderPlaces& places = {});

}  // namespace stemtap::top
