// SPDX-License-Identifier: Apache-2.0
#include "startup/recording_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

constexpr const char* kTasks = "/proc/self/task";

// linux_dirent64, which no header of libc defines.
struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

// Calls visit(tid) for every thread of the process until it returns false. Returns false if it did,
// or if the threads cannot be listed. Not opendir, which allocates.
template <typename Visit>
bool ForEachThread(Visit visit) noexcept {
  const int directory = ::open(kTasks, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return false;
  alignas(Entry) char bytes[4096];
  bool all = true;
  long size = 0;
  while (all && (size = ::syscall(SYS_getdents64, directory, bytes, sizeof(bytes))) > 0) {
    for (long at = 0; all && at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(bytes + at);
      std::uint32_t tid = 0;
      if (ParseNumber(entry->name, 1, INT32_MAX, tid)) all = visit(static_cast<pid_t>(tid));
      at += entry->bytes;
    }
  }
  ::close(directory);
  return all && size == 0;
}

// Reads /proc/self/task/TID/status.
class Status {
 public:
  explicit Status(pid_t tid) noexcept {
    char path[64];
    ::snprintf(path, sizeof(path), "%s/%d/status", kTasks, static_cast<int>(tid));
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const ssize_t length = ::read(file, text_, sizeof(text_) - 1);
    ::close(file);
    if (length > 0) text_[length] = 0;
  }
  bool has_ended() const noexcept {
    const char* state = Find("\nState:\t");
    return state != nullptr && (*state == 'Z' || *state == 'X');
  }
  bool blocks_sigterm() const noexcept {
    const char* blocked = Find("\nSigBlk:\t");
    if (blocked == nullptr) return false;
    std::uint64_t mask = 0;  // hexadecimal
    for (; (*blocked >= '0' && *blocked <= '9') || (*blocked >= 'a' && *blocked <= 'f');
         ++blocked) {
      mask = mask << 4 |
             static_cast<std::uint64_t>(*blocked <= '9' ? *blocked - '0' : *blocked - 'a' + 10);
    }
    return (mask >> (SIGTERM - 1) & 1) != 0;
  }

 private:
  const char* Find(const char* field) const noexcept {
    const char* found = ::strstr(text_, field);
    return found == nullptr ? nullptr : found + ::strlen(field);
  }
  char text_[4096] = {};
};

bool Contains(const pid_t* tids, std::size_t count, pid_t tid) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (tids[i] == tid) return true;
  }
  return false;
}

}  // namespace

void ExitProcess() noexcept {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::exit(0);
}

void RecordingThreads::BeginSetup() noexcept {
  const bool known = ForEachThread([this](pid_t tid) {
    if (before_count_ == kMaxBefore) return false;
    before_[before_count_++] = tid;
    return true;
  });
  if (!known) before_count_ = 0;
}

void RecordingThreads::EndSetup() noexcept {
  if (before_count_ == 0) return;
  ForEachThread([this](pid_t tid) {
    if (Contains(before_, before_count_, tid)) return true;
    if (cupti_count_ == kMaxOfCupti) return false;
    cupti_[cupti_count_++] = tid;
    return true;
  });
}

bool RecordingThreads::OnlyOnesLeft() const noexcept {
  const pid_t main_thread = ::getpid();
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  bool found_self = false;
  const bool only_ours = ForEachThread([&](pid_t tid) {
    found_self |= tid == self;
    if (tid == self) return true;
    if (tid == main_thread) return Status(tid).has_ended();
    return Contains(cupti_, cupti_count_, tid) && Status(tid).blocks_sigterm();
  });
  return only_ours && found_self;
}

}  // namespace stemtap::inject
