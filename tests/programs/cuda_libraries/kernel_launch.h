// SPDX-License-Identifier: Apache-2.0
//
// Launches the kernels of simulated libraries. The simulated driver accepts every name and takes
// the duration from its model, so a library needs no device code: a call launches one kernel with a
// name and a shape.
#pragma once

#include <cuda.h>

#include <mutex>
#include <string>
#include <unordered_map>

namespace cuda_libraries {

struct KernelShape {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned threads = 128;
  unsigned shared_bytes = 0;
};

// Launches the kernel `name` on `stream`. The context of the stream must be current.
inline CUresult LaunchKernel(const std::string& name, const KernelShape& shape, CUstream stream) {
  // The simulated driver recognizes PTX by its first directives.
  static constexpr char kImage[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
  static std::mutex mutex;  // guards `library` and `kernels`
  static CUlibrary library = nullptr;
  static auto& kernels = *new std::unordered_map<std::string, CUkernel>;
  CUkernel kernel = nullptr;
  {
    const std::lock_guard lock(mutex);
    CUresult result = CUDA_SUCCESS;
    if (library == nullptr)
      result = cuLibraryLoadData(&library, kImage, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) return result;
    CUkernel& known = kernels[name];
    if (known == nullptr) result = cuLibraryGetKernel(&known, library, name.c_str());
    if (result != CUDA_SUCCESS) return result;
    kernel = known;
  }
  return cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), shape.grid_x, shape.grid_y,
                        shape.grid_z, shape.threads, 1, 1, shape.shared_bytes, stream, nullptr,
                        nullptr);
}

}  // namespace cuda_libraries
