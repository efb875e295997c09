// SPDX-License-Identifier: Apache-2.0
//
// What chaos needs of the operating system: processes started under harsh conditions, every
// descendant found by a mark in its environment and reaped, file systems of a few kilobytes.
//
// THREADS: one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stemtap::chaos {

class Supervisor;

struct Start {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value, all of it
  std::filesystem::path cwd;
  std::filesystem::path out;  // files that take stdout and stderr
  std::filesystem::path err;
  std::uint64_t closed = 0;                   // bit n: descriptor n is closed
  bool error_unread = false;                  // stderr is a pipe without a reader
  std::optional<std::uint64_t> file_limit;    // RLIMIT_FSIZE, bytes
  std::optional<std::uint64_t> few_files;     // RLIMIT_NOFILE
  std::optional<std::uint64_t> memory_limit;  // RLIMIT_AS, bytes
  Supervisor* supervisor = nullptr;           // answers its system calls
};

// Starts argv[0], a path, in a session of its own. As root it may not override the permissions of
// files any more, so a directory without write permission is one. Throws if there can be no process.
pid_t StartProcess(const Start& start);

// Makes this process the one that orphans are given to, so that all of them can be waited for.
void AdoptOrphans();

// Everything that has ended and was ours, by adoption too: pid and wait status.
class Reaper {
 public:
  // Whether there is anybody left to wait for. All descendants are: an orphan becomes our child.
  bool Collect();
  std::optional<int> StatusOf(pid_t pid) const;
  const std::map<pid_t, int>& ended() const { return ended_; }

 private:
  std::map<pid_t, int> ended_;
};

// Processes whose environment holds `mark` ("NAME=value"); the dead that nobody has waited for are
// not among them.
std::vector<pid_t> Marked(const std::string& mark);
std::filesystem::path ProgramOf(pid_t pid);  // empty: gone, or not ours to know
std::vector<pid_t> ChildrenOf(pid_t pid);
// Whether it has a file of that name open.
bool HasOpen(pid_t pid, const std::string& name);

// Names in /dev/shm.
std::set<std::string> SharedMemory();

// Whether this process got mounts of its own: /dev/shm is then empty and ours alone.
bool OwnMounts();
// A file system of `kib` in memory at `directory`. False if that is not possible.
bool MountSmall(const std::filesystem::path& folder, std::uint64_t kib);
void Unmount(const std::filesystem::path& folder);

// exit 7, signal 9
std::string StatusText(int status);

}  // namespace stemtap::chaos
