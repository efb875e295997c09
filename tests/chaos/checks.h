// SPDX-License-Identifier: Apache-2.0
//
// The conditions that must hold after every round, for all faults. Each check returns one line per
// breach; checks_test.cpp verifies that each check can fail.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stemtap::chaos {

using Breaches = std::vector<std::string>;

struct Sum {
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  bool operator==(const Sum&) const = default;
};
using ByName = std::map<std::string, Sum>;

// Truth is the simulated driver's record of one process that ended by exit().
struct Truth {
  std::uint64_t launches = 0;
  ByName by_name;
  std::uint64_t unrecorded = 0;  // of launches: no client of CUPTI recorded them
};
using Truths = std::map<pid_t, Truth>;

// Account is stemtap's record of one process, from session.json or from a ring that a killed
// collector left.
struct Account {
  pid_t pid = 0;
  std::string state;
  std::string reason;
  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;      // records
  std::uint64_t gone_astray = 0;  // losses of unknown size: buffers, gaps
  std::uint64_t late = 0;
  bool from_ring = false;
  int programs = 1;  // that the process ran, one after the other (exec), as far as is known
};

struct Session {
  std::filesystem::path folder;
  bool finished = false;  // session.json exists
  bool unborn = false;    // its process was killed before it had a ring and a collector
  std::vector<Account> processes;
  std::vector<std::string> warnings;
  std::vector<std::string> rings;  // files that remain
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  std::uint64_t zero_duration = 0;
  std::uint64_t slowed = 0;  // launches with imputed durations in the plan
  std::uint64_t samples = 0;
  std::uint64_t excluded = 0;    // launches that the options leave out of the plan
  std::uint64_t window = 0;      // number of the window; 0: the session is not one of several
  bool windows_missing = false;  // of a session that Joined returned: windows were removed or lost
  ByName plan;
  // The values of overview.json, if it exists.
  struct Glance {
    bool ended = false;
    std::uint64_t seen = 0;
    std::uint64_t kept = 0;
    std::uint64_t dropped = 0;
    std::uint64_t captured = 0;
    bool operator==(const Glance&) const = default;
  };
  std::optional<Glance> overview;
  Glance counters;  // the same values from session.json, if it exists
};

// Circumstances describes what the checks must know about the round.
struct Circumstances {
  bool collector_killed = false;    // by this test
  bool folder_touched = false;      // by this test: deleted, made unwritable, or on a full disk; or
                                    // the collector may stop recording
  bool folder_deleted = false;      // by this test, possibly after it was complete
  bool nothing_is_removed = false;  // directory not writable, or no process left to remove files
  bool may_die_unborn = false;      // killed before the library has a collector
  // Launches that the library cannot observe: made after it shut down, or while another profiler
  // owns CUPTI.
  bool unheard_launches = false;
  bool names_exact = true;       // kernel names are recorded unchanged
  bool error_visible = true;     // stderr has a reader
  bool files_truncated = false;  // rings may be unreadable, and the program may end by SIGBUS
  bool stays_out = false;        // the library was disabled by the user, or found another tool
  bool quiet = true;
  bool controlled = false;  // recording is switched off and on, or begins late
  bool windows = false;     // the session has windows
  std::uint64_t keep = 0;   // windows that are kept; 0: all
  bool execs = false;       // a process runs several programs, one after the other
  bool attached = false;    // at most one process is recorded, from some moment on
};

// Attempt is the result of `stemtap attach`.
struct Attempt {
  pid_t pid = 0;              // the process that was to be attached to
  std::optional<int> status;  // nullopt: it did not end
  std::string errors;
  bool accepted() const { return status == 0; }
};

// `stemtap run` encodes the exit status as a shell does; otherwise, the status must be unchanged.
Breaches CheckStatus(int bare, int got, bool through_run);
Breaches CheckOutput(const std::string& bare, const std::string& got);
// stderr must be the program's output plus lines that begin with "stemtap: ", and a summary unless
// quiet.
Breaches CheckErrors(const std::string& bare, const std::string& got, bool quiet);

// Reads all files in a session directory. A file is a breach if it cannot be read, does not belong
// to a session, or should have been removed.
Session ReadSession(const std::filesystem::path& folder, const Circumstances& about,
                    Breaches& breaches);
// Returns the directories of the windows of a session, by number.
std::map<std::uint64_t, std::filesystem::path> WindowFolders(const std::filesystem::path& folder);
// Checks that the windows that should exist do, and are finished. `last` is the session that
// contains them, `windows` have been read by ReadSession.
Breaches CheckWindows(const Session& last, const std::map<std::uint64_t, Session>& windows,
                      const Circumstances& about);
// Returns the session that the windows and the last one are together.
Session Joined(const std::map<std::uint64_t, Session>& windows, const Session& last,
               const Circumstances& about);

// Checks that `stemtap attach` records the process or says why it does not.
Breaches CheckAttempt(const Attempt& attempt, const std::vector<Session>& sessions,
                      const Circumstances& about);

// Checks that no files exist outside session directories.
Breaches CheckNothingElse(const std::filesystem::path& work);

Truths ReadTruths(const std::filesystem::path& folder, bool names_exact);
// Checks that seen = kept + dropped, and that both match the truth or report why they differ.
Breaches CheckAccounts(const std::vector<Session>& sessions, const Truths& truths,
                       const std::string& errors, const Circumstances& about);

Breaches CheckProcesses(const std::vector<pid_t>& left);
Breaches CheckSharedMemory(const std::set<std::string>& before, const std::set<std::string>& after);

// Returns whether a session was written into this directory.
bool IsSessionFolder(const std::filesystem::path& path);

}  // namespace stemtap::chaos
