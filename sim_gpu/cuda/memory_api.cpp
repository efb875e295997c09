// SPDX-License-Identifier: Apache-2.0
//
// Memory: device memory is host memory; copies take no time and are not recorded.
#include <cstdlib>
#include <cstring>

#include "cuda/state.h"

using namespace fake_gpu;

namespace {

constexpr std::size_t kAlignment = 256;  // alignment of every real device allocation

void* Pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

CUresult Allocate(void** out, std::size_t bytes) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && bytes != 0, CUDA_ERROR_INVALID_VALUE);
  NextCorrelation();
  return posix_memalign(out, kAlignment, bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult Release(void* pointer) {
  FAKE_GPU_REQUIRE_READY();
  NextCorrelation();
  std::free(pointer);
  return CUDA_SUCCESS;
}

CUresult Copy(void* to, const void* from, std::size_t bytes) {
  FAKE_GPU_REQUIRE_READY();
  NextCorrelation();
  std::memmove(to, from, bytes);
  return CUDA_SUCCESS;
}

template <typename T>
CUresult Fill(CUdeviceptr to, T value, std::size_t count) {
  FAKE_GPU_REQUIRE_READY();
  NextCorrelation();
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(static_cast<T*>(Pointer(to)) + i, &value, sizeof value);
  return CUDA_SUCCESS;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return Allocate(reinterpret_cast<void**>(out), bytes);
}
FAKE_GPU_ALIAS("cuMemAlloc", "cuMemAlloc_v2");

FAKE_GPU_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream) {
  return Allocate(reinterpret_cast<void**>(out), bytes);
}
FAKE_GPU_ALIAS("cuMemAllocAsync_ptsz", "cuMemAllocAsync");

FAKE_GPU_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned) {
  return Allocate(reinterpret_cast<void**>(out), bytes);
}

FAKE_GPU_EXPORT CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
  return Allocate(out, bytes);
}
FAKE_GPU_ALIAS("cuMemAllocHost", "cuMemAllocHost_v2");

FAKE_GPU_EXPORT CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  return Allocate(out, bytes);
}

FAKE_GPU_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  return Release(Pointer(address));
}
FAKE_GPU_ALIAS("cuMemFree", "cuMemFree_v2");

FAKE_GPU_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) {
  return Release(Pointer(address));
}
FAKE_GPU_ALIAS("cuMemFreeAsync_ptsz", "cuMemFreeAsync");

FAKE_GPU_EXPORT CUresult cuMemFreeHost(void* pointer) {
  return Release(pointer);
}

FAKE_GPU_EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Copy(Pointer(to), Pointer(from), bytes);
}
FAKE_GPU_ALIAS("cuMemcpy_ptds", "cuMemcpy");

FAKE_GPU_EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  return Copy(Pointer(to), Pointer(from), bytes);
}
FAKE_GPU_ALIAS("cuMemcpyAsync_ptsz", "cuMemcpyAsync");

FAKE_GPU_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return Copy(Pointer(to), from, bytes);
}
FAKE_GPU_ALIAS("cuMemcpyHtoD", "cuMemcpyHtoD_v2");
FAKE_GPU_ALIAS("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return Copy(to, Pointer(from), bytes);
}
FAKE_GPU_ALIAS("cuMemcpyDtoH", "cuMemcpyDtoH_v2");
FAKE_GPU_ALIAS("cuMemcpyDtoH_v2_ptds", "cuMemcpyDtoH_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Copy(Pointer(to), Pointer(from), bytes);
}
FAKE_GPU_ALIAS("cuMemcpyDtoD", "cuMemcpyDtoD_v2");
FAKE_GPU_ALIAS("cuMemcpyDtoD_v2_ptds", "cuMemcpyDtoD_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes,
                                              CUstream) {
  return Copy(Pointer(to), from, bytes);
}
FAKE_GPU_ALIAS("cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2");
FAKE_GPU_ALIAS("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  return Copy(to, Pointer(from), bytes);
}
FAKE_GPU_ALIAS("cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2");
FAKE_GPU_ALIAS("cuMemcpyDtoHAsync_v2_ptsz", "cuMemcpyDtoHAsync_v2");

FAKE_GPU_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return Fill(to, value, count);
}
FAKE_GPU_ALIAS("cuMemsetD8", "cuMemsetD8_v2");
FAKE_GPU_ALIAS("cuMemsetD8_v2_ptds", "cuMemsetD8_v2");

FAKE_GPU_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return Fill(to, value, count);
}
FAKE_GPU_ALIAS("cuMemsetD32", "cuMemsetD32_v2");
FAKE_GPU_ALIAS("cuMemsetD32_v2_ptds", "cuMemsetD32_v2");

FAKE_GPU_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                                         CUstream) {
  return Fill(to, value, count);
}
FAKE_GPU_ALIAS("cuMemsetD8Async_ptsz", "cuMemsetD8Async");

FAKE_GPU_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream) {
  return Fill(to, value, count);
}
FAKE_GPU_ALIAS("cuMemsetD32Async_ptsz", "cuMemsetD32Async");
