// SPDX-License-Identifier: Apache-2.0
//
// Durations of kernels. A kernel of a placeholder image takes as long as its first parameter
// requests, see fake_gpu.h. The parameters of real code have other meanings, so a model provides
// the durations of its kernels:
//
//   duration = (base + wave * max(0, blocks / resident - 1)) * exp(sigma * z) * slowdown
//
// `base` (1.5 to 48 us), `wave` (0.4 to 1.2 us) and `sigma` (0.02 to 0.15) depend on the kernel's
// name only. `resident` is the number of blocks that fit on 132 multiprocessors at once, given the
// threads and the dynamic shared memory of a block. `z` is close to a standard normal variable, at
// most 3.5 in size. One kernel in four has a slow mode: 3 % of its launches take 2.5 times as long.
// Durations are at least 1.5 us, and at most 10 ms before noise.
//
// Noise and mode are a function of FAKE_GPU_SEED, the kernel's name and the number of earlier
// launches of the function, so that the totals of a single-threaded program are the same in every
// run.
//
// THREADS: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "cuda/extent.h"
#include "fake_gpu.h"

namespace fake_gpu {

// Returns whether FAKE_GPU_DURATIONS selects the model for the functions of a module that was
// loaded from `image`. By default it does for real code: a fatbin or its wrapper, an ELF file, or
// PTX. Reads a zero-terminated text no further than its end.
bool UsesDurationModel(const void* image);
// The same for an image in a file. A file that cannot be read is a placeholder.
bool UsesDurationModelOfFile(const char* path);

// DurationModel is the part of the model that depends on the name of a kernel.
class DurationModel {
 public:
  explicit DurationModel(std::string_view kernel_name);

  // Returns the duration of the next launch in nanoseconds.
  std::uint64_t Next(Extent grid, Extent block, std::uint32_t shared_bytes);

 private:
  double Typical(Extent grid, Extent block, std::uint32_t shared_bytes) const;

  const std::uint64_t hash_;
  // Relaxed: only distinct values matter.
  std::atomic<std::uint64_t> launches_{0};
};

// Returns the duration that the first parameter of a launch requests.
inline std::uint64_t RequestedDuration(void** kernel_params) {
  return kernel_params == nullptr || kernel_params[0] == nullptr
             ? FAKE_GPU_DEFAULT_DURATION_NS
             : *static_cast<const std::uint64_t*>(kernel_params[0]);
}

}  // namespace fake_gpu
