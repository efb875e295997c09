// SPDX-License-Identifier: Apache-2.0
//
// ExclusiveActuator lets one launch at a time use an actuator that acts: its switch affects the
// whole process, and the first capture to end would switch off the others. An actuator that does
// not act is free for every launch.
//
// THREADS: Load once; Enter to Leave on one thread, which holds the actuator meanwhile; entered_ns
// and ReadLastKernel on the flusher.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/actuator.h"
#include "recording/kernel_note.h"

namespace stemtap::inject {

class ExclusiveActuator {
 public:
  bool Load(const Options& options, void* driver, char* problem, std::size_t size) noexcept {
    return actuator_.Load(options, driver, problem, size);
  }
  bool acts() const noexcept { return actuator_.acts(); }

  // Returns false if another thread holds the actuator. Acquire: pairs with the release in Leave,
  // so that this start happens after the previous stop.
  bool Enter() noexcept { return !acts() || !taken_.exchange(true, std::memory_order_acquire); }
  void Leave() noexcept {
    if (!acts()) return;
    entered_ns_.store(0, std::memory_order_relaxed);
    taken_.store(false, std::memory_order_release);
  }

  // The functions below are called between Enter and Leave, and only if the actuator acts.

  void SetEntered(std::uint64_t now_ns) noexcept {
    entered_ns_.store(now_ns, std::memory_order_relaxed);
  }
  // Starts the capture of `launch`, of which the caller set the members that describe the call.
  // Returns false if the actuator refuses it.
  bool Start(const stemtap_capture& launch) noexcept {
    last_kernel_.Write(launch.kernel);
    if (actuator_.asks()) {
      current_ = launch;
      current_.struct_size = sizeof(current_);
      current_.device = actuator_.Device();
      current_.result = 0;
    }
    return actuator_.Start(current_);
  }
  void Stop(CUresult result) noexcept {
    current_.result = static_cast<std::int32_t>(result);
    actuator_.Stop(current_);
  }
  // Called at program exit; the actuator is not called afterwards.
  void Exit() noexcept { actuator_.Exit(); }

  // Returns the time at which the launch that holds the actuator entered, or 0 if none holds it.
  std::uint64_t entered_ns() const noexcept { return entered_ns_.load(std::memory_order_relaxed); }
  void ReadLastKernel(char (&name)[KernelNote::kBytes]) noexcept { last_kernel_.Read(name); }

 private:
  Actuator actuator_;
  // Acquired by exchange in Enter, released in Leave.
  std::atomic<bool> taken_{false};
  stemtap_capture current_ = {};  // accessed only by the thread that holds the actuator
  std::atomic<std::uint64_t> entered_ns_{0};
  KernelNote last_kernel_;
};

}  // namespace stemtap::inject
