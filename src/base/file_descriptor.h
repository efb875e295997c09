// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

namespace stemtap {

// FileDescriptor owns an open file and closes it on destruction.
class FileDescriptor {
 public:
  // A negative `fd` is the result of a failed open.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace stemtap
