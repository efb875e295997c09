// SPDX-License-Identifier: Apache-2.0
//
// Which session folder somebody means: by its path, by a process of it, or the newest there is.
// A folder counts as a session's if it holds an overview.json, or a ring of a traced process.
#pragma once

#include <unistd.h>

#include <string>

#include "base/result.h"

namespace stemtap::top {

// Where sessions are looked for. Tests give others.
struct FinderPlaces {
  std::string here = ".";  // and the folders below, kMostDepth deep
  // Where programs without a current folder leave their sessions: stemtap-*.
  std::string other = "/tmp";
  std::string proc = "/proc";  // of processes that run, the session that they are part of
  uid_t user = ::geteuid();    // whose sessions count in `other`
};

// The folder of the session that `word` names: a folder (or the overview.json in it), the pid of its
// collector or of a program that it traces or traced.
Result<std::string> FindSession(const std::string& word, const FinderPlaces& places = {});

// The session below places.here whose files are the newest; without any there, of those in places.other
// and of the processes that run.
Result<std::string> NewestSession(const FinderPlaces& places = {});

}  // namespace stemtap::top
