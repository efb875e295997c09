// SPDX-License-Identifier: Apache-2.0
//
// KernelNote passes a kernel name from a launch callback to the flusher, which reports it to the
// user. The name is copied, because CUPTI's memory may be freed before the report.
//
// THREADS: Write from any thread, without waiting; Read from the flusher.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>

namespace stemtap::inject {

class KernelNote {
 public:
  // Enough of a name for a line of output.
  static constexpr std::size_t kBytes = 96;

  // Stores the name. The last write wins; of two concurrent writes, either is kept.
  void Write(const char* name) noexcept {
    // Acquire here and release below pair with each other across Write and Read, so that one thread
    // copies at a time.
    if (busy_.exchange(true, std::memory_order_acquire)) return;
    std::size_t i = 0;
    for (; i + 1 < kBytes && name[i] != 0; ++i) text_[i] = name[i];
    text_[i] = 0;
    busy_.store(false, std::memory_order_release);
  }

  // Copies the last name to `name`, with unprintable characters as question marks.
  void Read(char (&name)[kBytes]) noexcept {
    // A writer copies at most 95 bytes. If it does not finish, its thread was stopped during the
    // copy.
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
