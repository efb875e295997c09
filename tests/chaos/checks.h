// SPDX-License-Identifier: Apache-2.0
//
// What must hold after every round, whatever was done to it. Each check answers with one line per
// breach; checks_test.cpp shows that each can.
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

// What the fake driver knows of one process that ended by exit().
struct Truth {
  std::uint64_t launches = 0;
  ByName by_name;
};
using Truths = std::map<pid_t, Truth>;

// What stemtap says of one process: from session.json, or from a ring that a killed collector left.
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
};

struct Session {
  std::filesystem::path folder;
  bool finished = false;  // session.json is there
  bool unborn = false;    // its process was killed before it had a ring and a collector
  std::vector<Account> processes;
  std::vector<std::string> warnings;
  std::vector<std::string> rings;  // files that were left
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  std::uint64_t zero_duration = 0;
  std::uint64_t slowed = 0;  // launches whose durations in the plan are those of their like
  std::uint64_t samples = 0;
  ByName plan;
  // What overview.json says, if it is there.
  struct Glance {
    bool ended = false;
    std::uint64_t seen = 0;
    std::uint64_t kept = 0;
    std::uint64_t dropped = 0;
    std::uint64_t captured = 0;
    bool operator==(const Glance&) const = default;
  };
  std::optional<Glance> overview;
  Glance counters;  // what session.json says of the same, if it is there
};

// What of the round the checks have to know.
struct Circumstances {
  bool collector_killed = false;    // by us
  bool folder_touched = false;      // by us: deleted, made unwritable, on a full disk; or the
                                    // collector may give up
  bool folder_deleted = false;      // by us, perhaps after it was complete
  bool nothing_is_removed = false;  // the directory cannot be written, or nobody is left who would
  bool may_die_unborn = false;  // killed while the library makes its directory: nobody is there yet
  // Launches that the library has no way to know of: made after its goodbye, or while another
  // profiler has CUPTI and keeps it.
  bool unheard_launches = false;
  bool names_exact = true;       // kernel names come through as they are
  bool error_visible = true;     // somebody can read stderr
  bool files_truncated = false;  // rings may be unreadable, and the program may end by SIGBUS
  bool stays_out = false;        // the library was told to do nothing, or found another tool
  bool quiet = true;
};

// The exit status through `stemtap run` is what a shell makes of it; else it is the same.
Breaches CheckStatus(int bare, int got, bool through_run);
Breaches CheckOutput(const std::string& bare, const std::string& got);
// stderr is the program's, plus lines that begin with "stemtap: "; not quiet, plus a summary.
Breaches CheckErrors(const std::string& bare, const std::string& got, bool quiet);

// Reads all that lies in a session directory. A file that cannot be read, one that is none of a
// session's, and one that should be gone is a breach.
Session ReadSession(const std::filesystem::path& folder, const Circumstances& about,
                    Breaches& breaches);
// Files outside of session directories: there must be none.
Breaches CheckNothingElse(const std::filesystem::path& work);

Truths ReadTruths(const std::filesystem::path& folder, bool names_exact);
// seen = kept + dropped, and both agree with the truth or say why not.
Breaches CheckAccounts(const std::vector<Session>& sessions, const Truths& truths,
                       const std::string& errors, const Circumstances& about);

Breaches CheckProcesses(const std::vector<pid_t>& left);
Breaches CheckSharedMemory(const std::set<std::string>& before, const std::set<std::string>& after);

// Whether this is a directory that a session was written into.
bool IsSessionFolder(const std::filesystem::path& path);

}  // namespace stemtap::chaos
