// SPDX-License-Identifier: Apache-2.0
//
// What the scripts of the invented workloads are made of: kernels and launches before the noise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "research/workloads/noise.h"
#include "shm/record.h"

namespace stemtap {

inline constexpr std::uint32_t kComputeStream = 7;

// What limits a kernel, and so how much of its duration another GPU leaves.
enum class Bound : std::uint8_t { kMemory, kCompute, kLatency, kNetwork };

// Duration on the simulated other GPU per duration on the first, in thousandths: its arithmetic is
// 2.5 times as fast, its memory 1.8 times, its links 1.25 times; starting a kernel hardly differs.
inline constexpr std::array<std::uint64_t, 4> kOtherGpuPerMille = {550, 400, 900, 800};

// What all launches of a kernel share. A kernel off the compute stream runs beside it.
struct Kernel {
  const char* name;
  std::uint32_t stream;
  std::uint16_t block[3];
  std::uint32_t shared_bytes;
  unsigned noise_percent;  // sigma of the log of a duration, at most kMostNoisePercent
  Bound bound;
};

// Launch is one launch of a script before the noise.
struct Launch {
  shm::KernelRecord record;  // without name, times and correlation
  std::uint32_t kernel = 0;  // number of its name in the script
  Bound bound = Bound::kLatency;
  bool joins = false;  // waits for what runs beside the compute stream
  std::uint64_t median_ns = 0;
  const NoiseTable* noise = nullptr;  // of its duration
};

inline Launch MakeLaunch(const Kernel& kernel, std::uint32_t number,
                         const std::array<std::uint64_t, 3>& grid, std::uint64_t median_ns) {
  Launch launch;
  launch.kernel = number;
  launch.bound = kernel.bound;
  launch.median_ns = median_ns;
  launch.noise = &LogNormal(kernel.noise_percent);
  launch.record.stream = kernel.stream;
  launch.record.shared_bytes = kernel.shared_bytes;
  for (std::size_t i = 0; i < 3; ++i) {
    launch.record.grid[i] = static_cast<std::uint32_t>(grid[i]);
    launch.record.block[i] = kernel.block[i];
  }
  return launch;
}

}  // namespace stemtap
