// SPDX-License-Identifier: Apache-2.0
//
// JobFile is how the runs of a job find the server that one of them has started (PrivateServer):
// a file in a directory that all hosts of the job share. It contains the password of the server,
// so only its owner may read it, and a file that others could read or write is refused.
//
// THREADS: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stemtap::fleet {

struct JobFile {
  std::string job;
  std::string host;               // of the server
  std::int64_t pid = 0;           // of the collector that started it
  std::uint64_t started_ms = 0;   // UnixMs
  std::vector<std::string> urls;  // of the server, as for ParseRedisUrl

  bool operator==(const JobFile&) const = default;
};

// The text of the file: lines `NAME VALUE`.
std::string JobFileText(const JobFile& file);
std::optional<JobFile> ParseJobFile(std::string_view text);

// Returns the directory of these files: $STEMTAP_FLEET_DIR, $XDG_CACHE_HOME/stemtap/jobs, or
// ~/.cache/stemtap/jobs, because clusters share home directories.
Result<std::string> JobDirectory();

// Returns the name of the file of a job of this user. `host`: of a job on one host, so that jobs of
// the same name on other hosts have other files; empty: of a job on several hosts.
std::string JobFileName(const std::string& job, const std::string& host);

// Returns the file, or nullopt if there is none. Fails if another user owns it, if others may read
// or write it, or if it is malformed or of another job.
Result<std::optional<JobFile>> LoadJobFile(const std::string& directory, const std::string& name,
                                           const std::string& job);

// Writes the file as a whole, with mode 0600. Makes the directory (0700) if it is missing. Returns
// false if there is a file of this name, unless `replace` is set.
Result<bool> StoreJobFile(const std::string& directory, const std::string& name,
                          const JobFile& file, bool replace);

// Removes the file if it is still the one that was written.
void RemoveJobFile(const std::string& directory, const std::string& name, const JobFile& file);

}  // namespace stemtap::fleet
