// SPDX-License-Identifier: Apache-2.0
//
// The real driver library on a machine without a device.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/real_nvidia.h"

namespace stemtap::test {

// RealDrivers finds every real libcuda.so.1. As root this library creates /dev/nvidiactl, also where
// there is no device; the destructor removes a file that was not there before.
class RealDrivers {
 public:
  RealDrivers() : had_device_file_(std::filesystem::exists(kDeviceFile)) {
    const auto root = RealNvidia("driver");
    // With a kernel driver, cuInit answers something else.
    if (!root || std::filesystem::exists("/proc/driver/nvidia")) return;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*root)) {
      if (entry.path().filename() == "libcuda.so.1")
        directories_.push_back(entry.path().parent_path());
    }
  }
  ~RealDrivers() {
    std::error_code ignored;
    if (!had_device_file_) std::filesystem::remove(kDeviceFile, ignored);
  }
  RealDrivers(const RealDrivers&) = delete;
  RealDrivers& operator=(const RealDrivers&) = delete;

  // The directories that contain a libcuda.so.1: none where it cannot be had, or where this machine
  // has a driver.
  const std::vector<std::filesystem::path>& directories() const { return directories_; }

 private:
  static constexpr const char* kDeviceFile = "/dev/nvidiactl";
  bool had_device_file_;
  std::vector<std::filesystem::path> directories_;
};

}  // namespace stemtap::test

// Ends the test case with a message when there is no real driver library. Needs doctest.
#define STEMTAP_SKIP_WITHOUT_DRIVERS(drivers)                                              \
  do {                                                                                     \
    if ((drivers).directories().empty()) {                                                 \
      MESSAGE(                                                                             \
          "SKIPPED: no real driver library (CMake variable STEMTAP_REAL_NVIDIA), or this " \
          "machine has a driver");                                                         \
      return;                                                                              \
    }                                                                                      \
  } while (false)
