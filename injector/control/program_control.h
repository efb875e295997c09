// SPDX-License-Identifier: Apache-2.0
//
// ProgramControl is what the program reports with stemtap/control.h: its step, the open ranges of
// its threads, and pauses of the recording. It works before cuInit, so that the first launch has a
// range, and ends when the program exits and in forked children.
//
// A captured launch reads it; other launches do not.
//
// THREADS: any, lock-free.
#pragma once

#include <atomic>
#include <cstdint>

#include "control/pauses.h"
#include "control/range_paths.h"
#include "shm/record.h"

namespace stemtap::inject {

class ProgramControl {
 public:
  // Functions of stemtap/control.h.
  void Step() noexcept { steps_.fetch_add(1, std::memory_order_relaxed); }
  void PushRange(const char* name) noexcept;
  void PopRange() noexcept;
  void Stop() noexcept;
  void Start() noexcept;

  // Returns the mark of a launch that the calling thread makes now. Its range is an id of paths(),
  // or RangePaths::kOther.
  shm::LaunchMark CurrentMark() const noexcept;
  const RangePaths& paths() const noexcept { return paths_; }
  const Pauses& pauses() const noexcept { return pauses_; }

  // Sets the clock of the kernel records. Before, the time of pauses is 0, because no kernel has
  // started.
  using Clock = std::uint64_t (*)();
  void SetClock(Clock clock) noexcept {
    // Release: publishes what the clock uses; pairs with the acquire in Now.
    clock_.store(clock, std::memory_order_release);
  }
  // Sets the function that Start calls, and calls it if Start was called before.
  using Resume = void (*)();
  void OnStart(Resume resume) noexcept;
  // Ignores all later calls of the program. Called when the program exits and in a forked child,
  // where the clock cannot be read.
  void Close() noexcept { closed_.store(true, std::memory_order_relaxed); }

 private:
  bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }
  std::uint64_t Now() const noexcept;

  // Relaxed: independent values.
  std::atomic<std::uint64_t> steps_{0};  // begun so far
  std::atomic<bool> closed_{false};
  std::atomic<Clock> clock_{nullptr};
  // Sequentially consistent: of Start and OnStart at the same time, one sees the other's value.
  std::atomic<bool> started_{false};
  std::atomic<Resume> resume_{nullptr};
  Pauses pauses_;
  RangePaths paths_;
};

// Returns the only object, because the calls of the program carry no handle.
ProgramControl& Control() noexcept;

}  // namespace stemtap::inject
