// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace stemtap {

// FileDescriptor owns an open file and closes it on destruction. Standard input, output and error
// stay open.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  // A negative `fd` is the result of a failed open.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { Close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = other.Release();
    }
    return *this;
  }

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Gives up ownership.
  int Release() { return std::exchange(fd_, -1); }
  // Returns false and sets errno if the file system reports an error, for example of a late write.
  bool Close() {
    const int fd = Release();
    return fd <= STDERR_FILENO || ::close(fd) == 0;
  }

 private:
  int fd_ = -1;
};

}  // namespace stemtap
