// SPDX-License-Identifier: Apache-2.0
//
// Directory is an open directory that a command writes its files into. Files are named relative to
// its descriptor: what becomes of the path meanwhile does not matter. New files are for their owner
// alone (0600), and never one that exists already or that a symbolic link points to.
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

  // Makes the directory `path` (0700), whose parent must exist, or takes one that exists and is
  // empty, and creates the file `claim` in it. Of several that ask for one directory at once, one
  // gets it: the claim is created with O_EXCL. What a killed one leaves is not empty, so a claim
  // need not expire.
  static Result<Directory> Claim(const std::string& path, const std::string& claim);
  // The same in a directory that must not exist: the first free of PATH, PATH-2, PATH-3, ...
  static Result<Directory> ClaimNew(const std::string& path, const std::string& claim);
  // The same in a directory that exists and may hold files.
  static Result<Directory> ClaimExisting(const std::string& path, const std::string& claim);

  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }
  int descriptor() const { return ::dirfd(stream_.get()); }

  // Creates a file that does not exist yet, for reading and writing. -1 with errno if it cannot.
  int Create(const std::string& name) const;
  // Opens a file that exists, for writing. -1 with errno if it cannot.
  int OpenForWriting(const std::string& name) const;
  // Writes `content` to a temporary file and renames it to `name`: whoever opens `name`, before or
  // after a kill, finds the old content or the new one.
  Status Replace(const std::string& name, std::string_view content) const;
  // Removes a file. Returns whether there is none of that name now.
  bool Remove(const std::string& name) const;
  // Renames a file, over another if there is one. False with errno if it cannot.
  bool Rename(const std::string& from, const std::string& to) const;
  // Calls `visit` with the name and inode of each entry but . and ..
  void ForEach(const std::function<void(const std::string&, ino_t)>& visit) const;
  // Removes the directory itself, if it is empty.
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
