// SPDX-License-Identifier: Apache-2.0
//
// KernelNote carries the name of a kernel from a launch callback to the flusher, which tells the
// user. The name is copied: CUPTI's memory may be gone when it is told.
//
// THREADS: Write from any, it never waits; Read from the flusher.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>

namespace stemtap::inject {

class KernelNote {
 public:
  // As much of a name as a line to the user holds.
  static constexpr std::size_t kBytes = 96;

  // The last one stands, unless two come at the same time: then either.
  void Write(const char* name) noexcept {
    // Acquire and release: matched by each other's, so that one copies at a time.
    if (busy_.exchange(true, std::memory_order_acquire)) return;
    std::size_t i = 0;
    for (; i + 1 < kBytes && name[i] != 0; ++i) text_[i] = name[i];
    text_[i] = 0;
    busy_.store(false, std::memory_order_release);
  }

  // What a terminal does not show becomes a question mark.
  void Read(char (&name)[kBytes]) noexcept {
    // A writer copies 95 bytes; one that never ends has been stopped amid them.
    constexpr int kTries = 1000;
    for (int i = 0; busy_.exchange(true, std::memory_order_acquire); ++i) {
      name[0] = '?';
      name[1] = 0;
      if (i == kTries) return;
      ::sched_yield();
    }
    for (std::size_t i = 0; i < kBytes; ++i) {
      name[i] = text_[i];
      if (name[i] == 0) break;
      if (name[i] < ' ' || name[i] > '~') name[i] = '?';
    }
    busy_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> busy_{false};
  char text_[kBytes] = {};
};

}  // namespace stemtap::inject
