// SPDX-License-Identifier: Apache-2.0
//
// Builds runs for tests, launch by launch.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/alignment/alignment.h"

namespace stemtap::test {

struct LaunchSpec {
  std::string name;
  std::uint64_t duration_ns = 100;
  std::uint32_t grid_x = 1;
  std::uint32_t stream = 7;
  std::uint16_t device = 0;
  std::uint32_t shared_bytes = 0;
};

inline void Launch(analysis::Run& run, const LaunchSpec& spec) {
  analysis::RunLaunch& launch = run.launches.emplace_back();
  launch.name_id = run.names.Intern(spec.name);
  launch.duration_ns = spec.duration_ns;
  launch.grid[0] = spec.grid_x;
  launch.grid[1] = launch.grid[2] = 1;
  launch.block[0] = launch.block[1] = launch.block[2] = 1;
  launch.stream = spec.stream;
  launch.device = spec.device;
  launch.shared_bytes = spec.shared_bytes;
}

}  // namespace stemtap::test
