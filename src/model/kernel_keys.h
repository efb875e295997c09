// SPDX-License-Identifier: Apache-2.0
//
// KernelKeys detects kernels that a plan or an overview lists twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "shm/context_key.h"

namespace stemtap::model {

class KernelKeys {
 public:
  // Returns false if a kernel with this name, launch configuration and process was added before.
  // Always returns true for kernels that may have equal keys in a valid file: names with invalid
  // UTF-8, which was replaced by U+FFFD, and, in merged sessions, processes with equal pids on
  // several machines.
  bool Add(std::string_view name, const shm::LaunchConfig& config, std::int32_t process,
           bool merged) {
    if (name.find("\xEF\xBF\xBD") != std::string_view::npos || (merged && process != 0))
      return true;
    return keys_.insert(Of(name, config, process)).second;
  }

  static std::string Of(std::string_view name, const shm::LaunchConfig& config,
                        std::int32_t process) {
    std::string key(name);
    key += '\0';
    for (const std::uint32_t extent : config.grid) key += std::to_string(extent) + ',';
    for (const std::uint32_t extent : config.block) key += std::to_string(extent) + ',';
    return key + std::to_string(process);
  }

 private:
  std::unordered_set<std::string> keys_;
};

}  // namespace stemtap::model
