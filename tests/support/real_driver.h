// SPDX-License-Identifier: Apache-2.0
//
// Runs the real driver library on a machine without a device.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/real_nvidia.h"

namespace stemtap::test {

// RealDrivers finds every real libcuda.so.1. As root, this library creates /dev/nvidiactl even
// without a device. The destructor removes the file if it did not exist before.
class RealDrivers {
 public:
  RealDrivers() : had_device_file_(std::filesystem::exists(kDeviceFile)) {
    const auto root = RealNvidia("driver");
    // With a kernel driver, cuInit returns a different result.
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

  // Returns the directories that contain a libcuda.so.1, or none if the library is unavailable or
  // this machine has a driver.
  const std::vector<std::filesystem::path>& directories() const { return directories_; }

 private:
  static constexpr const char* kDeviceFile = "/dev/nvidiactl";
  bool had_device_file_;
  std::vector<std::filesystem::path> directories_;
};

}  // namespace stemtap::test

// Ends the test case with a message if there is no real driver library. Requires doctest.
#define STEMTAP_SKIP_WITHOUT_DRIVERS(drivers)                                              \
  do {                                                                                     \
    if ((drivers).directories().empty()) {                                                 \
      MESSAGE(                                                                             \
          "SKIPPED: no real driver library (CMake variable STEMTAP_REAL_NVIDIA), or this " \
          "machine has a driver");                                                         \
      return;                                                                              \
    }                                                                                      \
  } while (false)
