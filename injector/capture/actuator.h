// SPDX-License-Identifier: Apache-2.0
//
// Actuator is what a capture does: nothing (log), cuProfilerStart and Stop (profiler), or the
// functions of a library of the user's (include/stemtap/actuator.h).
//
// THREADS: Load and Exit once; Start and Stop from launching threads, one capture at a time where the
// actuator acts: LaunchGate sees to that.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "startup/options.h"
#include "stemtap/actuator.h"

namespace stemtap::inject {

class Actuator {
 public:
  // False with the reason in `problem` if captures cannot be made. `driver` is the libcuda in use.
  bool Load(const Options& options, void* driver, char* problem, std::size_t size) noexcept;

  // Whether captures do anything, to the whole process: then one at a time, and watched.
  bool acts() const noexcept { return start_ != nullptr || profiler_start_ != nullptr; }
  // Whether Start wants the launch described.
  bool asks() const noexcept { return start_ != nullptr; }

  // False: not this launch.
  bool Start(const stemtap_capture& capture) noexcept;
  void Stop(const stemtap_capture& capture) noexcept;
  // At the end of the program. Nothing is called afterwards.
  void Exit() noexcept;

  // The device of the calling thread's context.
  std::uint32_t Device() const noexcept;

 private:
  bool LoadLibrary(const char* path, char* problem, std::size_t size) noexcept;

  CUresult (*profiler_start_)() = nullptr;
  CUresult (*profiler_stop_)() = nullptr;  // there if the other is
  CUresult (*get_device_)(CUdevice*) = nullptr;
  decltype(&stemtap_capture_start) start_ = nullptr;
  decltype(&stemtap_capture_stop) stop_ = nullptr;  // there if the other is
  decltype(&stemtap_actuator_exit) exit_ = nullptr;
};

}  // namespace stemtap::inject
