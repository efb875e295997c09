// SPDX-License-Identifier: Apache-2.0
//
// SharedMapping maps a file that other processes write too, and outlives a truncation of the file.
// An access behind the new end would raise SIGBUS and end the collector; instead the mapping becomes
// private memory of zeros, lost() becomes true, and the access goes on.
//
// The first mapping installs a handler for SIGBUS. A SIGBUS that is not about a mapping has its
// default effect. Where the kernel refuses the memory for the zeros (RLIMIT_AS), it has too.
//
// THREADS: created and destroyed on any thread; what is mapped may be used by all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

namespace stemtap {

class SharedMapping {
 public:
  // Maps the first `bytes` bytes of the file `fd`; -1: private memory of zeros. Empty with errno if
  // it cannot be mapped.
  static std::optional<SharedMapping> Map(int fd, std::size_t bytes);
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&&) = delete;
  ~SharedMapping();

  void* memory() const { return memory_; }
  // Whether the file was truncated: what was read since then may be zeros. Ask after reading.
  bool lost() const;

  // What the handler knows of a mapping.
  struct Region;

 private:
  SharedMapping(void* memory, std::size_t bytes, Region* region)
      : memory_(memory), bytes_(bytes), region_(region) {}
  void* memory_;
  std::size_t bytes_;
  Region* region_;
};

}  // namespace stemtap
