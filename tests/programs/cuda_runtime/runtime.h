// SPDX-License-Identifier: Apache-2.0
//
// A small CUDA runtime for tests: libcudart.so.13 over the driver API. NVIDIA's runtime refuses the
// simulated driver, so programs of the runtime API (nvcc -cudart shared, PyTorch, llama.cpp) load
// this library instead. It contains the functions that these programs call; tools/real_programs
// adds a stub for every other one that they link.
//
// Handles are the handles of the driver (cudaStream_t is CUstream, cudaKernel_t is CUkernel), and
// error codes have the same numbers in both APIs. As in CUDA, the first call of a thread makes the
// primary context of its device current.
//
// THREADS: every function may be called from any thread.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

// Begins the definition of an exported function.
#define RUNTIME_API extern "C" __attribute__((visibility("default")))

// Returns from the calling function if the driver is not ready for this thread.
#define RUNTIME_REQUIRE_CONTEXT() \
  if (const cudaError_t error = cuda_runtime::MakeCurrent(); error != cudaSuccess) return error

namespace cuda_runtime {

// Remembers an error for cudaGetLastError and returns it.
cudaError_t Remember(cudaError_t error);
inline cudaError_t Remember(CUresult result) {
  return Remember(static_cast<cudaError_t>(result));
}

// Initializes the driver and, if no context is current, makes the primary context of the thread's
// device current.
cudaError_t MakeCurrent();

// Returns the kernel of a function pointer that nvcc's code registered, or of a cudaKernel_t.
// Returns nullptr if `function` is neither. Loads the kernel's module on first use.
CUkernel KernelOf(const void* function);

// KernelOf as the driver's launch and attribute functions want it: they accept kernels in place of
// functions.
inline CUfunction FunctionOf(const void* function) {
  return reinterpret_cast<CUfunction>(KernelOf(function));
}

inline CUdeviceptr Address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace cuda_runtime
