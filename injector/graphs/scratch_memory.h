// SPDX-License-Identifier: Apache-2.0
//
// ScratchMemory is memory for one computation. It is mapped, because the library does not use the
// program's heap, and its pages take memory only when they are written.
//
// THREADS: none.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace stemtap::inject {

class ScratchMemory {
 public:
  explicit ScratchMemory(std::size_t bytes) noexcept : bytes_(bytes == 0 ? 1 : bytes) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  ~ScratchMemory() {
    if (ok()) ::munmap(memory_, bytes_);
  }
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;

  // Returns whether there is memory.
  bool ok() const noexcept { return memory_ != MAP_FAILED; }
  // Zeroed, and aligned for every type. REQUIRES: ok().
  void* get() const noexcept { return memory_; }

 private:
  void* memory_;
  const std::size_t bytes_;
};

}  // namespace stemtap::inject
