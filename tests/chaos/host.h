// SPDX-License-Identifier: Apache-2.0
//
// Operating system helpers: start processes with limited resources, find and reap every descendant
// by a mark in its environment, and mount file systems of a few kilobytes.
//
// THREADS: one caller.
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
  std::vector<std::string> environment;  // the complete environment, as NAME=value
  std::filesystem::path cwd;
  std::filesystem::path out;  // files that receive stdout and stderr
  std::filesystem::path err;
  std::uint64_t closed = 0;                   // bit n: descriptor n is closed
  bool error_unread = false;                  // stderr is a pipe without a reader
  std::optional<std::uint64_t> file_limit;    // RLIMIT_FSIZE, bytes
  std::optional<std::uint64_t> few_files;     // RLIMIT_NOFILE
  std::optional<std::uint64_t> memory_limit;  // RLIMIT_AS, bytes
  Supervisor* supervisor = nullptr;           // intercepts its system calls
};

// Starts argv[0], a path, in its own session. Drops root's right to override file permissions, so
// read-only directories apply to root, too. Throws if the process cannot be started.
pid_t StartProcess(const Start& start);

// Makes this process the parent of orphans, so that it can wait for all of them.
void AdoptOrphans();

// Reaper collects the pid and wait status of every child that ended, including adopted children.
class Reaper {
 public:
  // Returns whether any descendants are left to wait for. Orphans become children of this process.
  bool Collect();
  std::optional<int> StatusOf(pid_t pid) const;
  const std::map<pid_t, int>& ended() const { return ended_; }

 private:
  std::map<pid_t, int> ended_;
};

// Returns the processes whose environment contains `mark` ("NAME=value"), without zombies.
std::vector<pid_t> Marked(const std::string& mark);
std::filesystem::path ProgramOf(pid_t pid);  // empty if the process ended or is not readable
std::vector<pid_t> ChildrenOf(pid_t pid);
// Returns whether the process has a file of that name open.
bool HasOpen(pid_t pid, const std::string& name);

// Returns the names in /dev/shm.
std::set<std::string> SharedMemory();

// Returns whether this process has private mounts. If so, /dev/shm is empty and private.
bool OwnMounts();
// Mounts an in-memory file system of `kib` at the given directory. Returns false if that is not
// possible.
bool MountSmall(const std::filesystem::path& folder, std::uint64_t kib);
void Unmount(const std::filesystem::path& folder);

// For example "exit 7" or "signal 9".
std::string StatusText(int status);

}  // namespace stemtap::chaos
