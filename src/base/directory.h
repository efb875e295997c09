// SPDX-License-Identifier: Apache-2.0
//
// Directory is an open directory that a command writes its files into. Files are opened relative to
// its descriptor, so later changes to the path have no effect. New files have mode 0600. An
// existing file or the target of a symbolic link is never opened as a new file.
//
// THREADS: none.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace stemtap {

class Directory {
 public:
  // Opens the directory `path`, which must not be a symbolic link.
  static Result<Directory> Open(const std::string& path);

  // Creates the directory `path` (0700), whose parent must exist, or opens it if it exists and is
  // empty, then creates the file `claim` in it. If several processes claim one directory at once,
  // exactly one succeeds, because the claim is created with O_EXCL. A killed process leaves a
  // directory that is not empty, so claims need no expiry.
  static Result<Directory> Claim(const std::string& path, const std::string& claim);
  // Like Claim, but always creates the directory: the first unused one of PATH, PATH-2, PATH-3, ...
  static Result<Directory> ClaimNew(const std::string& path, const std::string& claim);
  // Like Claim, but if the directory exists, `empty` removes its files first, or fails. Of several
  // processes that replace one directory at once, one at a time runs `empty`.
  static Result<Directory> ClaimReplaced(const std::string& path, const std::string& claim,
                                         const std::function<Status(const Directory&)>& empty);
  // Like Claim, but the directory must exist and may contain files.
  static Result<Directory> ClaimExisting(const std::string& path, const std::string& claim);

  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }
  int descriptor() const { return ::dirfd(stream_.get()); }

  // Creates a new file for reading and writing. Returns its descriptor, or -1 and sets errno.
  int Create(const std::string& name) const;
  // Opens an existing file for writing. Returns its descriptor, or -1 and sets errno.
  int OpenForWriting(const std::string& name) const;
  // Writes `content` to a temporary file and renames it to `name`. Readers see either the old or
  // the new content, even if this process is killed.
  Status Replace(const std::string& name, std::string_view content) const;
  // Removes a file. Returns true if the file no longer exists.
  bool Remove(const std::string& name) const;
  // Renames a file and replaces `to` if it exists. Returns false and sets errno on failure.
  bool Rename(const std::string& from, const std::string& to) const;
  // Calls `visit` with the name and inode of each entry except "." and "..".
  void ForEach(const std::function<void(const std::string&, ino_t)>& visit) const;
  // Removes the directory if it is empty.
  void RemoveSelf() const;

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  Directory(std::string path, DIR* stream) : path_(std::move(path)), stream_(stream) {}
  Status MakeClaim(const std::string& name) const;
  Status CheckOwn(int claim) const;

  std::string path_;
  std::unique_ptr<DIR, Close> stream_;
};

}  // namespace stemtap
