// SPDX-License-Identifier: Apache-2.0
//
// The last error and the device of each thread.
#include <cudaProfiler.h>

#include "runtime.h"

namespace cuda_runtime {
namespace {

thread_local cudaError_t t_last_error = cudaSuccess;
thread_local int t_device = 0;

// The runtime never releases primary contexts: they live until the process ends.
cudaError_t UsePrimaryContext(int device) {
  CUcontext context = nullptr;
  CUresult result = cuDevicePrimaryCtxRetain(&context, device);
  if (result == CUDA_SUCCESS) result = cuCtxSetCurrent(context);
  return Remember(result);
}

}  // namespace

cudaError_t Remember(cudaError_t error) {
  if (error != cudaSuccess) t_last_error = error;
  return error;
}

cudaError_t MakeCurrent() {
  CUcontext context = nullptr;
  CUresult result = cuCtxGetCurrent(&context);
  if (result == CUDA_ERROR_NOT_INITIALIZED) result = cuInit(0);
  if (result != CUDA_SUCCESS) return Remember(result);
  return context != nullptr ? cudaSuccess : UsePrimaryContext(t_device);
}

}  // namespace cuda_runtime

using cuda_runtime::Remember;

RUNTIME_API cudaError_t cudaGetLastError() {
  const cudaError_t error = cuda_runtime::t_last_error;
  cuda_runtime::t_last_error = cudaSuccess;
  return error;
}

RUNTIME_API cudaError_t cudaPeekAtLastError() {
  return cuda_runtime::t_last_error;
}

RUNTIME_API const char* cudaGetErrorName(cudaError_t error) {
  const char* name = nullptr;
  return cuGetErrorName(static_cast<CUresult>(error), &name) == CUDA_SUCCESS
             ? name
             : "unrecognized error code";
}

RUNTIME_API const char* cudaGetErrorString(cudaError_t error) {
  const char* text = nullptr;
  return cuGetErrorString(static_cast<CUresult>(error), &text) == CUDA_SUCCESS
             ? text
             : "unrecognized error code";
}

RUNTIME_API cudaError_t cudaSetDevice(int device) {
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) return Remember(result);
  int devices = 0;
  cuDeviceGetCount(&devices);
  if (device < 0 || device >= devices) return Remember(cudaErrorInvalidDevice);
  cuda_runtime::t_device = device;
  return cuda_runtime::UsePrimaryContext(device);
}

RUNTIME_API cudaError_t cudaGetDevice(int* device) {
  CUdevice current = 0;
  *device = cuCtxGetDevice(&current) == CUDA_SUCCESS ? current : cuda_runtime::t_device;
  return cudaSuccess;
}

RUNTIME_API cudaError_t cudaSetDeviceFlags(unsigned) {
  return cudaSuccess;
}

RUNTIME_API cudaError_t cudaDeviceSynchronize() {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuCtxSynchronize());
}

RUNTIME_API cudaError_t cudaDeviceReset() {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuDevicePrimaryCtxReset(cuda_runtime::t_device));
}

RUNTIME_API cudaError_t cudaProfilerStart() {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuProfilerStart());
}

RUNTIME_API cudaError_t cudaProfilerStop() {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuProfilerStop());
}

RUNTIME_API cudaError_t cudaDriverGetVersion(int* version) {
  return Remember(cuDriverGetVersion(version));
}

RUNTIME_API cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

RUNTIME_API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                                         unsigned version, unsigned long long flags,
                                                         cudaDriverEntryPointQueryResult* status) {
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) return Remember(result);
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
  const CUresult result =
      cuGetProcAddress(symbol, function, static_cast<int>(version), flags, &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return Remember(result);
}

RUNTIME_API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                                unsigned long long flags,
                                                cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}
