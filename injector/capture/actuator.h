// SPDX-License-Identifier: Apache-2.0
//
// Actuator performs a capture: nothing (log), cuProfilerStart and cuProfilerStop (profiler), or the
// functions of a user library (include/stemtap/actuator.h).
//
// THREADS: call Load and Exit once; Start and Stop from launching threads. If the actuator acts,
// LaunchGate ensures that only one capture is active at a time.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "startup/options.h"
#include "stemtap/actuator.h"

namespace stemtap::inject {

class Actuator {
 public:
  // Loads the actuator that `options` select. Returns false with the reason in `problem` if
  // captures cannot be made. `driver` is the libcuda in use.
  bool Load(const Options& options, void* driver, char* problem, std::size_t size) noexcept;

  // Returns whether captures affect the whole process. Such captures are made one at a time and
  // watched.
  bool acts() const noexcept { return start_ != nullptr || profiler_start_ != nullptr; }
  // Returns whether Start needs a description of the launch.
  bool asks() const noexcept { return start_ != nullptr; }

  // Returns false if the launch is not to be captured.
  bool Start(const stemtap_capture& capture) noexcept;
  void Stop(const stemtap_capture& capture) noexcept;
  // Called at program exit; the actuator is not called afterwards.
  void Exit() noexcept;

  // Returns the device of the calling thread's context.
  std::uint32_t Device() const noexcept;

 private:
  bool LoadLibrary(const char* path, char* problem, std::size_t size) noexcept;

  CUresult (*profiler_start_)() = nullptr;
  CUresult (*profiler_stop_)() = nullptr;  // non-null if profiler_start_ is
  CUresult (*get_device_)(CUdevice*) = nullptr;
  decltype(&stemtap_capture_start) start_ = nullptr;
  decltype(&stemtap_capture_stop) stop_ = nullptr;  // non-null if start_ is
  decltype(&stemtap_actuator_exit) exit_ = nullptr;
};

}  // namespace stemtap::inject
