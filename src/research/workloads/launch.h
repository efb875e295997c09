// SPDX-License-Identifier: Apache-2.0
//
// The building blocks of synthetic workload scripts: kernels, and launches before noise is added.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "research/workloads/noise.h"
#include "shm/record.h"

namespace stemtap::research {

inline constexpr std::uint32_t kComputeStream = 7;

// The resource that limits a kernel; it determines the kernel's speedup on another GPU.
enum class Bound : std::uint8_t { kMemory, kCompute, kLatency, kNetwork };

// Duration on the simulated other GPU relative to the first GPU, in thousandths. The other GPU's
// arithmetic is 2.5 times as fast, its memory 1.8 times, its links 1.25 times; launch latency
// hardly differs.
inline constexpr std::array<std::uint64_t, 4> kOtherGpuPerMille = {550, 400, 900, 800};

// The properties that all launches of a kernel share. A kernel on another stream runs concurrently
// with the compute stream.
struct Kernel {
  const char* name;
  std::uint32_t stream;
  std::uint16_t block[3];
  std::uint32_t shared_bytes;
  unsigned noise_percent;  // sigma of the log of a duration, at most kMaxNoisePercent
  Bound bound;
};

// Launch is one launch of a script, before noise is added.
struct Launch {
  shm::KernelRecord record;  // without name, times and correlation id
  std::uint32_t kernel = 0;  // number of the kernel in the script
  Bound bound = Bound::kLatency;
  bool joins = false;  // waits for kernels that run beside the compute stream
  std::uint64_t median_ns = 0;
  const NoiseTable* noise = nullptr;  // noise of its duration
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

}  // namespace stemtap::research
