// SPDX-License-Identifier: Apache-2.0
//
// Finds the libcupti of this process. Two copies in one process break both, so the one that is
// loaded wins; else the one that the program would load later, which is the one of its CUDA
// runtime.
//
//   1. an already loaded libcupti.so*, or libcupti-* (as wheels rename what they bundle)
//   2. STEMTAP_CUPTI, and then no other
//   3. for each version, that of a loaded libcudart first, then from the driver's downwards (a
//   CUPTI
//      newer than the driver refuses to work, an older one works):
//      a. in the Python packages beside a loaded libtorch or libcudart (nvidia/cuda_cupti/lib,
//         nvidia/cu13/lib), where torch itself would find it
//      b. by soname, as the loader finds it (LD_LIBRARY_PATH, ld.so.cache)
//      c. in CUDA_HOME, CUDA_PATH, /usr/local/cuda: extras/CUPTI/lib64, lib64
//
// THREADS: called once, at initialisation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

// A handle to libcupti; nullptr, and where it was looked for in `problem`, if there is none.
// `driver_version` is cuDriverGetVersion's (13000 for CUDA 13.0; 0 if not known).
void* LocateCupti(const char* wanted_path, std::uint32_t driver_version, char* problem,
                  std::size_t problem_size) noexcept;

// The libcuda that called us; nullptr if there is none (it always is there when it did).
void* LocateDriver() noexcept;

// The CUDA major in the file name of a runtime library: 12 for /x/libcudart.so.12 and
// /x/libcudart-9335f6a2.so.12.4.99; 0 if there is none. Pure.
unsigned RuntimeMajorOf(const char* path) noexcept;

}  // namespace stemtap::inject
