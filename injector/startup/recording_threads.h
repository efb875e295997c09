// SPDX-License-Identifier: Apache-2.0
//
// RecordingThreads detects that the program's threads have all ended, so that only threads of the
// recording keep the process alive: the flusher and the threads of CUPTI. A process without this
// library ends with its last thread.
//
// The threads of CUPTI are the threads that appear while the library sets up CUPTI, and that block
// SIGTERM. A thread that the program starts at the same time on another thread has one of these
// properties at most. CUPTI may start threads later; they count as the program's, as do the threads
// of the driver, which exist without this library too.
//
// Without /proc, the end of the program's threads is not detected.
//
// THREADS: BeginSetup and EndSetup on the thread that sets up CUPTI; OnlyOnesLeft on the flusher,
// which starts after EndSetup.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace stemtap::inject {

// Ends the process as libc does when the last thread has ended: with exit(0) on this thread, which
// runs the program's exit handlers, and among them the library's. Signals are unblocked before,
// because no other thread is left to receive them.
void ExitProcess() noexcept;

class RecordingThreads {
 public:
  void BeginSetup() noexcept;
  void EndSetup() noexcept;

  // Returns whether the main thread and all other threads of the program have ended. Costs about 40
  // us while the main thread runs, because the system lists it first.
  bool OnlyOnesLeft() const noexcept;

 private:
  // If a program has more threads than this when it calls cuInit, the threads of CUPTI are unknown.
  static constexpr std::size_t kMaxBefore = 1024;
  // CUPTI has one worker; its later versions may have a few threads.
  static constexpr std::size_t kMaxOfCupti = 8;

  pid_t before_[kMaxBefore] = {};
  std::size_t before_count_ = 0;
  pid_t cupti_[kMaxOfCupti] = {};
  std::size_t cupti_count_ = 0;
};

}  // namespace stemtap::inject
