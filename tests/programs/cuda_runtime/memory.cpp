// SPDX-License-Identifier: Apache-2.0
//
// Memory: allocation, pools, copies, memsets, pointer attributes.
#include <cstdint>

#include "runtime.h"

using cuda_runtime::Address;
using cuda_runtime::Remember;

namespace {

CUdeviceptr* AddressIn(void** pointer) {
  return reinterpret_cast<CUdeviceptr*>(pointer);
}

CUmemoryPool Pool(cudaMemPool_t pool) {
  return reinterpret_cast<CUmemoryPool>(pool);
}

// Describes a copy between pitched allocations. The driver finds out which of the two are on the
// device.
CUDA_MEMCPY2D Copy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                     size_t height) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = Address(from);
  copy.srcPitch = from_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = Address(to);
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

}  // namespace

RUNTIME_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  RUNTIME_REQUIRE_CONTEXT();
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  return Remember(cuMemAlloc(AddressIn(pointer), bytes));
}

RUNTIME_API cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemAllocManaged(AddressIn(pointer), bytes, flags));
}

RUNTIME_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemAllocAsync(AddressIn(pointer), bytes, stream));
}

RUNTIME_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width,
                                        size_t height) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemAllocPitch(AddressIn(pointer), pitch, width, height, 4));
}

RUNTIME_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemHostAlloc(pointer, bytes, 0));
}

RUNTIME_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemHostAlloc(pointer, bytes, flags));
}

RUNTIME_API cudaError_t cudaFree(void* pointer) {
  RUNTIME_REQUIRE_CONTEXT();
  return pointer == nullptr ? cudaSuccess : Remember(cuMemFree(Address(pointer)));
}

RUNTIME_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemFreeAsync(Address(pointer), stream));
}

RUNTIME_API cudaError_t cudaFreeHost(void* pointer) {
  RUNTIME_REQUIRE_CONTEXT();
  return pointer == nullptr ? cudaSuccess : Remember(cuMemFreeHost(pointer));
}

RUNTIME_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemHostRegister(pointer, bytes, flags));
}

RUNTIME_API cudaError_t cudaHostUnregister(void* pointer) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemHostUnregister(pointer));
}

RUNTIME_API cudaError_t cudaHostGetDevicePointer(void** address, void* pointer, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemHostGetDevicePointer(AddressIn(address), pointer, flags));
}

RUNTIME_API cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemGetInfo(free_bytes, total_bytes));
}

RUNTIME_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                 const void* pointer) {
  RUNTIME_REQUIRE_CONTEXT();
  unsigned type = 0;
  int device = 0;
  unsigned managed = 0;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  CUpointer_attribute wanted[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
      CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* values[] = {&type, &device, &managed, &device_pointer, &host_pointer};
  *attributes = {};
  const CUresult result = cuPointerGetAttributes(5, wanted, values, Address(pointer));
  if (result != CUDA_SUCCESS) return Remember(result);
  attributes->device = device;
  attributes->devicePointer = device_pointer;
  attributes->hostPointer = host_pointer;
  attributes->type = managed != 0                   ? cudaMemoryTypeManaged
                     : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                     : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                    : cudaMemoryTypeUnregistered;
  if (attributes->type == cudaMemoryTypeUnregistered) {
    attributes->device = -2;
    attributes->hostPointer = const_cast<void*>(pointer);
  }
  return cudaSuccess;
}

RUNTIME_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                                        cudaMemcpyKind kind, cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  if (bytes == 0) return cudaSuccess;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return Remember(cuMemcpyHtoDAsync(Address(to), from, bytes, stream));
    case cudaMemcpyDeviceToHost:
      return Remember(cuMemcpyDtoHAsync(to, Address(from), bytes, stream));
    case cudaMemcpyDeviceToDevice:
      return Remember(cuMemcpyDtoDAsync(Address(to), Address(from), bytes, stream));
    default:
      return Remember(cuMemcpyAsync(Address(to), Address(from), bytes, stream));
  }
}

RUNTIME_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  RUNTIME_REQUIRE_CONTEXT();
  if (bytes == 0) return cudaSuccess;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return Remember(cuMemcpyHtoD(Address(to), from, bytes));
    case cudaMemcpyDeviceToHost:
      return Remember(cuMemcpyDtoH(to, Address(from), bytes));
    case cudaMemcpyDeviceToDevice:
      return Remember(cuMemcpyDtoD(Address(to), Address(from), bytes));
    default:
      return Remember(cuMemcpy(Address(to), Address(from), bytes));
  }
}

RUNTIME_API cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from,
                                            int from_device, size_t bytes, cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  CUcontext to_context = nullptr;
  CUcontext from_context = nullptr;
  cuDevicePrimaryCtxRetain(&to_context, to_device);
  cuDevicePrimaryCtxRetain(&from_context, from_device);
  return Remember(
      cuMemcpyPeerAsync(Address(to), to_context, Address(from), from_context, bytes, stream));
}

RUNTIME_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from,
                                          size_t from_pitch, size_t width, size_t height,
                                          cudaMemcpyKind, cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  const CUDA_MEMCPY2D copy = Copy2D(to, to_pitch, from, from_pitch, width, height);
  return Remember(cuMemcpy2DAsync(&copy, stream));
}

RUNTIME_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                     size_t width, size_t height, cudaMemcpyKind) {
  RUNTIME_REQUIRE_CONTEXT();
  const CUDA_MEMCPY2D copy = Copy2D(to, to_pitch, from, from_pitch, width, height);
  return Remember(cuMemcpy2D(&copy));
}

RUNTIME_API cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  RUNTIME_REQUIRE_CONTEXT();
  return bytes == 0 ? cudaSuccess
                    : Remember(cuMemsetD8(Address(to), static_cast<unsigned char>(value), bytes));
}

RUNTIME_API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  if (bytes == 0) return cudaSuccess;
  return Remember(cuMemsetD8Async(Address(to), static_cast<unsigned char>(value), bytes, stream));
}

RUNTIME_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuDeviceGetDefaultMemPool(reinterpret_cast<CUmemoryPool*>(pool), device));
}

RUNTIME_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                                void* value) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(
      cuMemPoolGetAttribute(Pool(pool), static_cast<CUmemPool_attribute>(attribute), value));
}

RUNTIME_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                                void* value) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(
      cuMemPoolSetAttribute(Pool(pool), static_cast<CUmemPool_attribute>(attribute), value));
}

RUNTIME_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list,
                                             size_t count) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(
      cuMemPoolSetAccess(Pool(pool), reinterpret_cast<const CUmemAccessDesc*>(list), count));
}

RUNTIME_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuMemPoolTrimTo(Pool(pool), bytes));
}
