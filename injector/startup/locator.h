// SPDX-License-Identifier: Apache-2.0
//
// Finds the libcupti of this process. Two copies in one process break both, so an already loaded
// library has precedence, followed by the one that the program would load later (the library of its
// CUDA runtime). Search order:
//
//   1. an already loaded libcupti.so*, or libcupti-* (as Python wheels rename bundled libraries)
//   2. STEMTAP_CUPTI; if it is set, the search ends here
//   3. for each major version, first the one of a loaded libcudart, then from the driver's down (a
//      CUPTI newer than the driver refuses to work, an older one works):
//      a. in the Python packages next to a loaded libtorch or libcudart (nvidia/cuda_cupti/lib,
//         nvidia/cu13/lib), where torch itself finds it
//      b. by soname, as the loader finds it (LD_LIBRARY_PATH, ld.so.cache)
//      c. in CUDA_HOME, CUDA_PATH, /usr/local/cuda: extras/CUPTI/lib64, lib64
//
// THREADS: called once, during initialization.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

// Returns a handle to libcupti, or nullptr with the searched locations in `problem`.
// `driver_version` is the result of cuDriverGetVersion (13000 for CUDA 13.0), or 0 if unknown.
void* LocateCupti(const char* wanted_path, std::uint32_t driver_version, char* problem,
                  std::size_t problem_size) noexcept;

// Returns a handle to the loaded libcuda that called this library, or nullptr if none is loaded.
void* LocateDriver() noexcept;

// Returns the CUDA major version in the file name of a runtime library: 12 for /x/libcudart.so.12
// and /x/libcudart-9335f6a2.so.12.4.99, or 0 if there is none. Pure function.
unsigned RuntimeMajorOf(const char* path) noexcept;

}  // namespace stemtap::inject
