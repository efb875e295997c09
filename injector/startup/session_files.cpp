// SPDX-License-Identifier: Apache-2.0
#include "startup/session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <new>

#include "recording/name_hash.h"
#include "shm/session_env.h"
#include "startup/runtime.h"
#include "startup/say.h"

namespace stemtap::inject {
namespace {

constexpr std::size_t kPathBytes = 4200;
constexpr mode_t kFileMode = 0600;
// By which the definitions grow.
constexpr std::size_t kGrowthBytes = std::size_t{1} << 20;

// Opens a file; on failure returns a negative value and sets errno.
int OpenFile(const char* path, int flags) noexcept {
  return ::open(path, flags | O_NOFOLLOW | O_CLOEXEC, kFileMode);
}

void* MapFile(int fd, std::size_t bytes, int more_flags, std::size_t offset = 0) noexcept {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | more_flags, fd,
                static_cast<off_t>(offset));
}

// Allocates `bytes` of the file from `offset` on. Returns 0 or an errno value. A size beyond the
// process limit is not attempted, because it raises SIGXFSZ, which ends the program.
int Allocate(int fd, std::size_t offset, std::size_t bytes) noexcept {
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < offset + bytes) return EFBIG;
  return ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

void ReadProgramName(char* name, std::size_t size) noexcept {
  const int fd = OpenFile("/proc/self/comm", O_RDONLY);
  if (fd < 0) return;
  const ssize_t length = ::read(fd, name, size - 1);
  ::close(fd);
  if (length > 0) name[name[length - 1] == '\n' ? length - 1 : length] = 0;
}

// Returns the state of the recording that a process begins with (shm::kRecordingFileName).
shm::Recording ReadRecording(const char* folder) noexcept {
  char path[kPathBytes];
  ::snprintf(path, sizeof(path), "%s/%s", folder, shm::kRecordingFileName);
  const int fd = OpenFile(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return shm::Recording::kOn;
  char name[16] = {};
  const ssize_t length = ::read(fd, name, sizeof(name) - 1);
  ::close(fd);
  std::uint32_t state = 0;
  for (const char* known : shm::kRecordingNames) {
    if (length > 0 && ::strcmp(name, known) == 0) return static_cast<shm::Recording>(state);
    ++state;
  }
  return shm::Recording::kOn;
}

// Returns whether a process has ended, as far as /proc shows it. It may be a zombie that its new
// parent does not collect.
bool HasEnded(int pid) noexcept {
  char path[32];
  ::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int fd = OpenFile(path, O_RDONLY);
  if (fd < 0) return errno == ENOENT && ::access("/proc/self/stat", F_OK) == 0;
  char text[256];  // the id, the name in parentheses, at most 64 bytes, and the state
  const ssize_t length = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  if (length <= 0) return false;
  text[length] = 0;
  const char* name_end = ::strrchr(text, ')');
  return name_end != nullptr && ::strncmp(name_end, ") Z", 3) == 0;
}

// Returns the version of the gate table, or 0 if the file is not a gate table. The file size
// depends on the version, so the version is read before the file is mapped.
std::uint32_t GateVersionOf(int fd) noexcept {
  struct {
    std::uint64_t magic;
    std::uint32_t version;
  } start;
  static_assert(offsetof(shm::GateFile, magic) == 0 && offsetof(shm::GateFile, version) == 8);
  if (::pread(fd, &start, sizeof(start), 0) != static_cast<ssize_t>(sizeof(start))) return 0;
  return start.magic == shm::kGateMagic ? start.version : 0;
}

// Returns whether the file has an identity, which no other file has while it exists.
bool IdentityOf(int fd, dev_t& device, ino_t& inode) noexcept {
  struct stat about;
  if (!DescribeFile(fd, "", AT_EMPTY_PATH, about)) return false;
  device = about.st_dev;
  inode = about.st_ino;
  return true;
}

std::uint64_t HostHash() noexcept {
  utsname system;
  if (::uname(&system) != 0) return 0;
  return HashName(system.nodename, ::strlen(system.nodename));
}

}  // namespace

bool SessionFiles::Open(const char* folder, char* problem, std::uint32_t problem_size) noexcept {
  if (::strlen(folder) > shm::kMaxSessionPathBytes) {
    ::snprintf(problem, problem_size,
               "%.60s...: the path of the session directory is longer than %u bytes", folder,
               shm::kMaxSessionPathBytes);
    return false;
  }
  char path[kPathBytes];
  char hidden[kPathBytes];
  ::snprintf(path, sizeof(path), "%s/%s", folder, shm::kSessionFileName);
  if (::access(path, F_OK) == 0) {
    ::snprintf(problem, problem_size, "%s: the session has ended", folder);
    return false;
  }
  const int pid = static_cast<int>(::getpid());
  const auto id = static_cast<std::uint64_t>(pid);
  const std::uint32_t pid_namespace = shm::PidNamespace();
  shm::WriteImageFileName(ring_name_, shm::kRingPrefix, {id, MonotonicNs()});
  ::snprintf(path, sizeof(path), "%s/%s", folder, ring_name_);
  // The namespace separates processes with the same id in different containers.
  char unfinished[shm::kImageFileNameBytes];
  shm::WriteImageFileName(unfinished, shm::kRingPrefix, {id, pid_namespace});
  ::snprintf(hidden, sizeof(hidden), "%s/%s%s", folder, shm::kUnfinishedPrefix, unfinished);
  ::snprintf(folder_, sizeof(folder_), "%s", folder);
  // Left by a killed process with the same id, or a link that somebody else planted.
  ::unlink(hidden);
  const int fd = OpenFile(hidden, O_RDWR | O_CREAT | O_EXCL);
  if (fd < 0) {
    ::snprintf(problem, problem_size, "%s: cannot be made: %s", path, ::strerror(errno));
    return false;
  }
  ::fchmod(fd, kFileMode);  // the umask may have removed permissions
  constexpr std::size_t kBytes = shm::RingFileBytes(shm::kFirstDefinitions);
  const int full = Allocate(fd, 0, kBytes);
  void* memory = full == 0 ? MapFile(fd, kBytes, MAP_POPULATE) : MAP_FAILED;
  const int failure = full != 0 ? full : errno;
  IdentityOf(fd, device_, inode_);
  ::close(fd);
  if (memory == MAP_FAILED) {
    ::snprintf(problem, problem_size, "%s: cannot be made: %s", path, ::strerror(failure));
    ::unlink(hidden);
    return false;
  }
  ring_ = new (memory) shm::RingFile;
  ring_->header.file_bytes = sizeof(shm::RingFile);
  ring_->header.pid = pid;
  ring_->header.pid_namespace = pid_namespace;
  ReadProgramName(ring_->header.program, sizeof(ring_->header.program));
  Request(ReadRecording(folder));
  SetState(shm::RingState::kRecording);
  if (::rename(hidden, path) != 0) {
    ::snprintf(problem, problem_size, "%s: cannot be made: %s", path, ::strerror(errno));
    ::unlink(hidden);
    return false;
  }
  return true;
}

void SessionFiles::Remove() noexcept {
  char path[kPathBytes];
  ::snprintf(path, sizeof(path), "%s/%s", folder_, ring_name_);
  ::unlink(path);
}

bool SessionFiles::CollectorFailed() noexcept {
  if (collector_ == 0) return false;
  const bool has_ended = HasEnded(collector_);  // before the mask is looked for
  char path[kPathBytes];
  ::snprintf(path, sizeof(path), "%s/%s", folder_, shm::kMaskFileName);
  if (!has_ended && ::access(path, F_OK) != 0) return false;
  collector_ = 0;
  if (::access(path, F_OK) == 0) return false;
  constexpr const char* kReason = "the collector ended before it began the session";
  // A collector that reports a failure removes the ring itself.
  ::snprintf(path, sizeof(path), "%s/%s", folder_, ring_name_);
  if (::unlink(path) == 0) SayOnStderr("nothing will be recorded", kReason);
  ::rmdir(folder_);
  Remark(kReason);
  return true;
}

MappedDefinitions SessionFiles::first_definitions() const noexcept {
  return {reinterpret_cast<unsigned char*>(ring_), shm::RingFileBytes(shm::kFirstDefinitions),
          sizeof(shm::RingFile), 0, shm::kFirstDefinitions};
}

MappedDefinitions SessionFiles::MapDefinitions(std::uint32_t first) noexcept {
  const int before = errno;
  char path[kPathBytes];
  ::snprintf(path, sizeof(path), "%s/%s", folder_, ring_name_);
  const int fd = OpenFile(path, O_RDWR | O_NONBLOCK);
  void* memory = MAP_FAILED;
  // A mapping begins at a page, which may contain earlier records.
  const std::size_t at = shm::RingFileBytes(first);
  const std::size_t first_at = at % static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  dev_t device = 0;
  ino_t inode = 0;
  if (fd >= 0 && IdentityOf(fd, device, inode) && device == device_ && inode == inode_ &&
      Allocate(fd, at - first_at, kGrowthBytes) == 0) {
    memory = MapFile(fd, kGrowthBytes, 0, at - first_at);
  }
  if (fd >= 0) ::close(fd);
  errno = before;
  if (memory == MAP_FAILED) return {};
  const auto records = static_cast<std::uint32_t>((kGrowthBytes - first_at) / shm::kRecordBytes);
  return {static_cast<unsigned char*>(memory), kGrowthBytes, first_at, first, first + records};
}

void SessionFiles::UnmapDefinitions(const MappedDefinitions& mapped) noexcept {
  if (mapped.memory != reinterpret_cast<unsigned char*>(ring_))
    ::munmap(mapped.memory, mapped.bytes);
}

void SessionFiles::MapGate() noexcept {
  if (gate_refused_ || gate() != nullptr) return;
  char path[kPathBytes];
  ::snprintf(path, sizeof(path), "%s/%s", folder_, shm::kGateFileName);
  const int fd = OpenFile(path, O_RDWR | O_NONBLOCK);
  if (fd < 0) return;
  const std::uint32_t version = GateVersionOf(fd);
  void* memory = MAP_FAILED;
  if (version == shm::kGateVersion &&
      ::lseek(fd, 0, SEEK_END) == static_cast<off_t>(sizeof(shm::GateFile))) {
    memory = MapFile(fd, sizeof(shm::GateFile), 0);
  }
  ::close(fd);
  if (version != 0 && version != shm::kGateVersion) {
    char remark[96];
    ::snprintf(remark, sizeof(remark),
               "no launch is captured: the gate table has version %u; expected version %u", version,
               shm::kGateVersion);
    Remark(remark);
    gate_refused_ = true;
  }
  if (memory == MAP_FAILED) return;
  auto* file = static_cast<shm::GateFile*>(memory);
  if (file->file_bytes != sizeof(shm::GateFile)) {
    ::munmap(memory, sizeof(shm::GateFile));
    return;
  }
  by_process_ = (file->flags & shm::kGateByProcess) != 0;
  explores_ = (file->flags & shm::kGateByCredit) == 0;
  const shm::RingHeader& header = ring_->header;
  draws_ = shm::ProcessDraws(file->seed, header.pid, header.pid_namespace, HostHash());
  // Release: publishes the mapping and the members above; pairs with the acquire in gate().
  gate_.store(&file->table, std::memory_order_release);
}

void SessionFiles::Remark(const char* text) noexcept {
  constexpr char kBetween[] = "; ";
  remark_lock_.Lock();
  char* const end = ring_->header.reason + remark_bytes_;
  const std::uint32_t between = remark_bytes_ == 0 ? 0 : sizeof(kBetween) - 1;
  const std::size_t size = ::strlen(text);
  if (remark_bytes_ + between + size < sizeof(ring_->header.reason)) {
    ::memcpy(end, kBetween, between);
    ::memcpy(end + between, text, size);
    remark_bytes_ += between + static_cast<std::uint32_t>(size);
    // Release: publishes the text; pairs with the collector's acquire in RingReader.
    ring_->header.reason_bytes.store(remark_bytes_, std::memory_order_release);
  }
  remark_lock_.Unlock();
}

void SessionFiles::AddSwitch() noexcept {
  shm::RingHeader& header = ring_->header;
  const std::uint64_t number = header.switches.load(std::memory_order_relaxed);
  header.switch_times_ns[number % shm::kSwitchTimes].store(RealtimeNs(), std::memory_order_relaxed);
  // Release: publishes the time; pairs with the collector's acquire in RingReader.
  header.switches.store(number + 1, std::memory_order_release);
}

void SessionFiles::Disable(const char* reason) noexcept {
  Remark(reason);
  SetState(shm::RingState::kDisabled);
}

}  // namespace stemtap::inject
