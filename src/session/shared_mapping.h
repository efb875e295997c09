// SPDX-License-Identifier: Apache-2.0
//
// SharedMapping maps a file that other processes also write, and survives truncation of the file.
// An access beyond the new end would raise SIGBUS and end the collector. Instead, the mapping is
// replaced by private zeroed memory, lost() returns true, and the access continues.
//
// The first mapping installs a SIGBUS handler. A SIGBUS that does not concern a mapping has its
// default effect. So does one for which the kernel refuses the zeroed memory (RLIMIT_AS).
//
// THREADS: created and destroyed on any thread; the mapped memory may be used by all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

namespace stemtap::session {

class SharedMapping {
 public:
  // Maps the first `bytes` bytes of the file `fd`, or private zeroed memory if `fd` is -1. On
  // failure returns nullopt and sets errno.
  static std::optional<SharedMapping> Map(int fd, std::size_t bytes);
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&&) = delete;
  ~SharedMapping();

  void* memory() const { return memory_; }
  // Returns whether the file was truncated; data read since then may be zeros. Check after reading.
  bool lost() const;

  // Region is a mapping as the handler sees it.
  struct Region;

 private:
  SharedMapping(void* memory, std::size_t bytes, Region* region)
      : memory_(memory), bytes_(bytes), region_(region) {}
  void* memory_;
  std::size_t bytes_;
  Region* region_;
};

}  // namespace stemtap::session
