// SPDX-License-Identifier: Apache-2.0
//
// CaptureWatch decides whether captures may be made: they end if one does not return or if no
// kernel record arrives after it (watchdog.h), and resume when records arrive again.
//
// THREADS: Init once; Look on the flusher; allowed and Disable from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/exclusive_actuator.h"
#include "gate/watchdog.h"
#include "recording/kernel_note.h"
#include "startup/options.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class CaptureWatch {
 public:
  void Init(const Options& options) noexcept;

  // Relaxed: a concurrent launch may still be captured.
  bool allowed() const noexcept { return !disabled_.load(std::memory_order_relaxed); }
  void Disable() noexcept { disabled_.store(true, std::memory_order_relaxed); }

  // Called once per flush period. `pending`: captures without a record exist.
  void Look(SessionFiles& files, ExclusiveActuator& actuator, bool pending) noexcept;

 private:
  void EndCaptures(SessionFiles& files, ExclusiveActuator& actuator,
                   Watchdog::Alarm alarm) noexcept;

  std::atomic<bool> disabled_{false};
  std::uint32_t limit_ms_ = 0;
  Watchdog watchdog_;
  char waited_for_[KernelNote::kBytes] = {};  // kernel captured when records stopped arriving
  // Captures ended because no records arrive.
  bool silent_ = false;
};

}  // namespace stemtap::inject
