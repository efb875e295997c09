// SPDX-License-Identifier: Apache-2.0
//
// Allocation: cuMemAlloc*, cuMemFree*, cuMemHost*, cuMemGetInfo, cuMemGetAddressRange. Copies are
// in copies_api.cpp, memory pools in memory_pool_api.cpp.
#include "cuda/contexts.h"
#include "cuda/device_attributes.h"
#include "cuda/engine.h"
#include "cuda/host_work.h"
#include "cuda/memory.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

constexpr std::size_t kPitch = 512;  // of cuMemAllocPitch on an H100

CUresult New(void** out, std::size_t bytes, MemoryKind kind, unsigned flags = 0) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && bytes != 0, CUDA_ERROR_INVALID_VALUE);
  NextCorrelation();
  Allocation wanted;
  wanted.bytes = bytes;
  wanted.kind = kind;
  wanted.context = CurrentContext();
  wanted.device = wanted.context == nullptr ? 0 : wanted.context->device;
  wanted.flags = flags;
  return Allocate(wanted, out);
}

CUresult New(CUdeviceptr* out, std::size_t bytes, MemoryKind kind) {
  return New(reinterpret_cast<void**>(out), bytes, kind);
}

CUresult Release(std::uintptr_t address) {
  FAKE_GPU_REQUIRE_READY();
  NextCorrelation();
  if (address == 0) return CUDA_SUCCESS;
  // A pending copy may still use the memory.
  if (g_pending_host_work.load(std::memory_order_relaxed) != 0 && CurrentContext() != nullptr) {
    Synchronize(*CurrentContext());
  }
  return Free(address);
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return New(out, bytes, MemoryKind::kDevice);
}
FAKE_GPU_ALIAS("cuMemAlloc", "cuMemAlloc_v2");

FAKE_GPU_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width,
                                            size_t height, unsigned element_bytes) {
  FAKE_GPU_REQUIRE(pitch != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(element_bytes == 4 || element_bytes == 8 || element_bytes == 16,
                   CUDA_ERROR_INVALID_VALUE);
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return New(out, *pitch * height, MemoryKind::kDevice);
}
FAKE_GPU_ALIAS("cuMemAllocPitch", "cuMemAllocPitch_v2");

FAKE_GPU_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  return New(reinterpret_cast<void**>(out), bytes, MemoryKind::kManaged, flags);
}

FAKE_GPU_EXPORT CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
  return New(out, bytes, MemoryKind::kPinned);
}
FAKE_GPU_ALIAS("cuMemAllocHost", "cuMemAllocHost_v2");

FAKE_GPU_EXPORT CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  return New(out, bytes, MemoryKind::kPinned, flags);
}

FAKE_GPU_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  return Release(static_cast<std::uintptr_t>(address));
}
FAKE_GPU_ALIAS("cuMemFree", "cuMemFree_v2");

FAKE_GPU_EXPORT CUresult cuMemFreeHost(void* pointer) {
  return Release(reinterpret_cast<std::uintptr_t>(pointer));
}

FAKE_GPU_EXPORT CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(pointer != nullptr && bytes != 0, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(!FindAllocation(pointer), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  Allocation allocation;
  allocation.base = reinterpret_cast<std::uintptr_t>(pointer);
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::kRegistered;
  allocation.context = CurrentContext();
  allocation.flags = flags;
  return Track(allocation);
}
FAKE_GPU_ALIAS("cuMemHostRegister", "cuMemHostRegister_v2");

FAKE_GPU_EXPORT CUresult cuMemHostUnregister(void* pointer) {
  FAKE_GPU_REQUIRE_READY();
  const auto base = reinterpret_cast<std::uintptr_t>(pointer);
  return Untrack(base, MemoryKind::kRegistered) == CUDA_SUCCESS
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

// Host and device addresses are the same.
FAKE_GPU_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && FindAllocation(pointer), CUDA_ERROR_INVALID_VALUE);
  *out = reinterpret_cast<CUdeviceptr>(pointer);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2");

FAKE_GPU_EXPORT CUresult cuMemHostGetFlags(unsigned* out, void* pointer) {
  FAKE_GPU_REQUIRE_READY();
  const std::optional<Allocation> found = FindAllocation(pointer);
  FAKE_GPU_REQUIRE(out != nullptr && found && found->is_host(), CUDA_ERROR_INVALID_VALUE);
  *out = found->flags | CU_MEMHOSTALLOC_DEVICEMAP;  // always mapped
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes,
                                                 CUdeviceptr address) {
  FAKE_GPU_REQUIRE_READY();
  const std::optional<Allocation> found = FindAllocation(static_cast<std::uintptr_t>(address));
  FAKE_GPU_REQUIRE(found && !found->is_host(), CUDA_ERROR_NOT_FOUND);
  if (base != nullptr) *base = static_cast<CUdeviceptr>(found->base);
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuMemGetAddressRange", "cuMemGetAddressRange_v2");

FAKE_GPU_EXPORT CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(free_bytes != nullptr && total_bytes != nullptr, CUDA_ERROR_INVALID_VALUE);
  const CUctx_st* context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *free_bytes = FreeDeviceMemory(context->device);
  *total_bytes = kDeviceMemoryBytes;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuMemGetInfo", "cuMemGetInfo_v2");
