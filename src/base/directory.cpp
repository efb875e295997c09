// SPDX-License-Identifier: Apache-2.0
#include "base/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/byte_sink.h"
#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/text.h"

namespace stemtap {
namespace {

// Maximum number of directories that ClaimNew tries. More indicate a different problem.
constexpr int kMaxOfOneName = 1000;

Error SystemError(const std::string& path, const char* what) {
  return Error{fmt::format("{}: {}: {}", EscapeForTerminal(path), what, std::strerror(errno))};
}

Error InUse(const std::string& path) {
  return Error{fmt::format(
      "{}: is not empty: another run started a session there; expected a new or empty directory",
      EscapeForTerminal(path))};
}

// Creates a directory with mode 0700. Returns false and sets errno on failure.
bool MakeDirectory(const std::string& path) {
  constexpr mode_t kMode = 0700;
  if (::mkdir(path.c_str(), kMode) != 0) return false;
  // The umask may have removed permissions. Some file systems have none, so failures are ignored.
  struct stat made {};
  if (::lstat(path.c_str(), &made) == 0 && S_ISDIR(made.st_mode) && (made.st_mode & 0777) != kMode) {
    static_cast<void>(::chmod(path.c_str(), kMode));
  }
  return true;
}

}  // namespace

Result<Directory> Directory::Open(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open() && (errno == ENOTDIR || errno == ELOOP)) {
    return Error{
        fmt::format("{}: is not a directory, or is a link; expected a new or empty directory",
                    EscapeForTerminal(path))};
  }
  DIR* stream = file.is_open() ? ::fdopendir(file.get()) : nullptr;
  if (stream == nullptr) return SystemError(path, "cannot be opened");
  file.Release();
  return Directory(path, stream);
}

Result<Directory> Directory::Claim(const std::string& path, const std::string& claim) {
  const bool made = MakeDirectory(path);
  if (!made && errno != EEXIST) return SystemError(path, "cannot be created");
  Result<Directory> directory = Open(path);
  if (!directory.ok()) {
    if (made) ::rmdir(path.c_str());
    return directory;
  }
  bool empty = true;
  bool claimed_before = false;
  directory.value().ForEach([&](const std::string& name, ino_t) {
    empty = false;
    claimed_before |= name == claim;
  });
  if (claimed_before) return InUse(path);
  if (!empty) {
    return Error{fmt::format("{}: is not empty; expected a new or empty directory",
                             EscapeForTerminal(path))};
  }
  const Status claimed = directory.value().MakeClaim(claim);
  if (claimed.ok()) return directory;
  if (made) directory.value().RemoveSelf();
  return claimed.error();
}

Result<Directory> Directory::ClaimNew(const std::string& path, const std::string& claim) {
  std::string name = path;
  bool made = MakeDirectory(name);
  for (int again = 2; !made && errno == EEXIST && again <= kMaxOfOneName; ++again) {
    name = fmt::format("{}-{}", path, again);
    made = MakeDirectory(name);
  }
  if (!made) return SystemError(name, "cannot be created");
  Result<Directory> directory = ClaimExisting(name, claim);
  if (!directory.ok()) ::rmdir(name.c_str());
  return directory;
}

Result<Directory> Directory::ClaimReplaced(const std::string& path, const std::string& claim,
                                           const std::function<Status(const Directory&)>& empty) {
  if (!Exists(path)) return Claim(path, claim);
  Result<Directory> directory = Open(path);
  if (!directory.ok()) return directory;
  // Some file systems have no locks. There, two processes could empty one directory at once.
  const int lock = directory.value().descriptor();
  static_cast<void>(::flock(lock, LOCK_EX));
  Status claimed = empty(directory.value());
  if (claimed.ok()) claimed = directory.value().MakeClaim(claim);
  static_cast<void>(::flock(lock, LOCK_UN));
  if (!claimed.ok()) return claimed.error();
  return directory;
}

Result<Directory> Directory::ClaimExisting(const std::string& path, const std::string& claim) {
  Result<Directory> directory = Open(path);
  if (!directory.ok()) return directory;
  STEMTAP_TRY(directory.value().MakeClaim(claim));
  return directory;
}

Status Directory::MakeClaim(const std::string& name) const {
  const FileDescriptor claim(Create(name));
  if (!claim.is_open() && errno == EEXIST) return InUse(path_);
  if (!claim.is_open()) return SystemError(path_, "cannot be written");
  const Status own = CheckOwn(claim.get());
  if (!own.ok()) Remove(name);
  return own;
}

// Checks that no other user can create or replace files in the directory. Compares the directory
// with the claim, which this user created with mode 0600, to allow for the file system: without
// permissions, all files have the same mode; if a server maps root to another user, it does so for
// both.
Status Directory::CheckOwn(int claim) const {
  struct stat directory {};
  struct stat file {};
  if (::fstat(descriptor(), &directory) != 0 || ::fstat(claim, &file) != 0) {
    return SystemError(path_, "cannot be examined");
  }
  if (directory.st_uid != file.st_uid) {
    return Error{fmt::format("{}: belongs to another user ({}); expected a directory of your own",
                             EscapeForTerminal(path_), directory.st_uid)};
  }
  if ((directory.st_mode & ~file.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{
        fmt::format("{}: can be written by other users (mode {:03o}); expected a directory that "
                    "only you can write (chmod go-w)",
                    EscapeForTerminal(path_), directory.st_mode & 0777u)};
  }
  return Success{};
}

int Directory::Create(const std::string& name) const {
  const int fd = ::openat(descriptor(), name.c_str(),
                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnFileMode);
  if (fd >= 0) static_cast<void>(::fchmod(fd, kOwnFileMode));
  return fd;
}

int Directory::OpenForWriting(const std::string& name) const {
  return ::openat(descriptor(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
}

Status Directory::Replace(const std::string& name, std::string_view content) const {
  const std::unique_ptr<ByteSink> sink =
      STEMTAP_TRY(CreateSinkIn(descriptor(), name, PathOf(name)));
  STEMTAP_TRY(sink->Write(content));
  return sink->Finish();
}

bool Directory::Remove(const std::string& name) const {
  return ::unlinkat(descriptor(), name.c_str(), 0) == 0 || errno == ENOENT;
}

bool Directory::Rename(const std::string& from, const std::string& to) const {
  return ::renameat(descriptor(), from.c_str(), descriptor(), to.c_str()) == 0;
}

void Directory::ForEach(const std::function<void(const std::string&, ino_t)>& visit) const {
  ::rewinddir(stream_.get());
  while (const dirent* entry = ::readdir(stream_.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") visit(name, entry->d_ino);
  }
}

void Directory::RemoveSelf() const {
  ::rmdir(path_.c_str());
}

}  // namespace stemtap
