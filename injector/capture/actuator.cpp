// SPDX-License-Identifier: Apache-2.0
#include "capture/actuator.h"

#include <stdio.h>

#include "startup/runtime.h"

namespace stemtap::inject {

bool Actuator::Load(const Options& options, void* driver, char* problem,
                    std::size_t size) noexcept {
  if (options.actuator_library != nullptr) {
    get_device_ = reinterpret_cast<CUresult (*)(CUdevice*)>(FindSymbol(driver, "cuCtxGetDevice"));
    return LoadLibrary(options.actuator_library, problem, size);
  }
  if (!options.profiler) return true;
  profiler_start_ = reinterpret_cast<CUresult (*)()>(FindSymbol(driver, "cuProfilerStart"));
  profiler_stop_ = reinterpret_cast<CUresult (*)()>(FindSymbol(driver, "cuProfilerStop"));
  if (profiler_start_ != nullptr && profiler_stop_ != nullptr) return true;
  profiler_start_ = nullptr;
  ::snprintf(problem, size, "this libcuda lacks cuProfilerStart or cuProfilerStop");
  return false;
}

bool Actuator::LoadLibrary(const char* path, char* problem, std::size_t size) noexcept {
  if (*path == 0) {  // an empty path would open the program itself
    ::snprintf(problem, size, "the actuator has no path; expected library:PATH");
    return false;
  }
  void* library = OpenLibrary(path, false);
  if (library == nullptr) {
    ::snprintf(problem, size, "%.200s", LoadError(path));
    return false;
  }
  start_ = reinterpret_cast<decltype(start_)>(FindSymbol(library, "stemtap_capture_start"));
  stop_ = reinterpret_cast<decltype(stop_)>(FindSymbol(library, "stemtap_capture_stop"));
  exit_ = reinterpret_cast<decltype(exit_)>(FindSymbol(library, "stemtap_actuator_exit"));
  const char* missing = start_ == nullptr  ? "stemtap_capture_start"
                        : stop_ == nullptr ? "stemtap_capture_stop"
                                           : nullptr;
  if (missing != nullptr) {
    start_ = nullptr;
    ::snprintf(problem, size, "%.150s lacks %s", path, missing);
    return false;
  }
  const auto init = reinterpret_cast<decltype(&stemtap_actuator_init)>(
      FindSymbol(library, "stemtap_actuator_init"));
  const int failure = init != nullptr ? init(STEMTAP_ACTUATOR_VERSION) : 0;
  if (failure == 0) return true;
  start_ = nullptr;
  ::snprintf(problem, size, "%.150s: stemtap_actuator_init returned %d", path, failure);
  return false;
}

bool Actuator::Start(const stemtap_capture& capture) noexcept {
  if (start_ != nullptr) return start_(&capture) == 0;
  if (profiler_start_ != nullptr) profiler_start_();
  return true;
}

void Actuator::Stop(const stemtap_capture& capture) noexcept {
  if (start_ != nullptr) {
    stop_(&capture);
  } else if (profiler_start_ != nullptr) {
    profiler_stop_();
  }
}

void Actuator::Exit() noexcept {
  if (start_ != nullptr && exit_ != nullptr) exit_();
}

std::uint32_t Actuator::Device() const noexcept {
  CUdevice device = 0;
  return get_device_ != nullptr && get_device_(&device) == CUDA_SUCCESS
             ? static_cast<std::uint32_t>(device)
             : STEMTAP_CAPTURE_NO_DEVICE;
}

}  // namespace stemtap::inject
