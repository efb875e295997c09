// SPDX-License-Identifier: Apache-2.0
//
// ProgramControl is what the program reports with stemtap/control.h and NVTX: its step, its open
// ranges, and pauses of the recording. It works before cuInit, so that the first launch has a
// range, and ends when the program exits and in forked children.
//
// A captured launch reads it; other launches only if they are grouped or selected by it.
//
// THREADS: any, lock-free.
#pragma once

#include <atomic>
#include <cstdint>

#include "control/launch_ranges.h"
#include "control/pauses.h"
#include "control/range_domain.h"
#include "control/range_paths.h"
#include "control/started_ranges.h"
#include "control/step_range.h"
#include "shm/record.h"

namespace stemtap::inject {

class ProgramControl {
 public:
  // Functions of stemtap/control.h.
  void Step() noexcept { steps_.fetch_add(1, std::memory_order_relaxed); }
  void PushRange(const char* name) noexcept { PushRange(kProgramDomain, NameOf(name)); }
  void PopRange() noexcept { PopRange(kProgramDomain); }
  void Stop() noexcept;
  void Start() noexcept;

  // Open and close a range of the calling thread. Return the number of open ranges of the domain
  // that enclose the range. Return a negative number if no range of the domain is open, or
  // kNotTracked if the calls of the program are ignored.
  static constexpr int kNotTracked = -2;  // NVTX_NO_PUSH_POP_TRACKING
  int PushRange(const RangeDomain& domain, RangeName name) noexcept;
  int PopRange(const RangeDomain& domain) noexcept;
  // Open and close a range of the process. StartRange returns the id of the range, or 0 if the
  // calls of the program are ignored.
  std::uint64_t StartRange(const RangeDomain& domain, RangeName name) noexcept;
  void EndRange(std::uint64_t id) noexcept;

  // Sets the name of the ranges that begin a step. Called once, when the library is loaded.
  void SetStepRange(const char* name) noexcept { step_range_.Set(name); }

  // Returns the mark of a launch that the calling thread makes now. Its range is an id of paths(),
  // or RangePaths::kOther: the innermost range of the thread, or else the range of the process that
  // was started last.
  shm::LaunchMark CurrentMark() const noexcept;
  const RangePaths& paths() const noexcept { return paths_; }
  LaunchRanges& ranges() noexcept { return ranges_; }
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
  bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

 private:
  std::uint64_t Now() const noexcept;

  // Relaxed: independent values.
  std::atomic<std::uint64_t> steps_{0};  // begun so far
  std::atomic<bool> closed_{false};
  std::atomic<Clock> clock_{nullptr};
  // Sequentially consistent: of Start and OnStart at the same time, one sees the other's value.
  std::atomic<bool> started_{false};
  std::atomic<Resume> resume_{nullptr};
  StepRange step_range_;
  Pauses pauses_;
  StartedRanges started_ranges_;
  RangePaths paths_;
  LaunchRanges ranges_;
};

// Returns the only object, because the calls of the program carry no handle.
ProgramControl& Control() noexcept;

}  // namespace stemtap::inject
