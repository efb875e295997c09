// SPDX-License-Identifier: Apache-2.0
//
// Finds the libcupti of this process. Two copies in one process break both, so the one that is loaded
// wins; else the one that the program would load later, which is the one beside its CUDA runtime.
//
//   1. an already loaded libcupti.so*
//   2. STEMTAP_CUPTI
//   3. by soname, as the loader finds it (LD_LIBRARY_PATH, ld.so.cache), the driver's major first
//   4. in the Python packages beside a loaded libtorch or libcudart (nvidia/cuda_cupti/lib,
//      nvidia/cu13/lib), where torch itself would find it
//   5. CUDA_HOME, /usr/local/cuda: extras/CUPTI/lib64, lib64
//
// THREADS: called once, at initialisation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

// A handle to libcupti, or nullptr. `driver_version` is cuDriverGetVersion's (13000 for CUDA 13.0; 0 if
// not known).
void* LocateCupti(const char* wanted_path, std::uint32_t driver_version) noexcept;

// The libcuda that called us; nullptr if there is none (it always is there when it did).
void* LocateDriver() noexcept;

}  // namespace stemtap::inject
