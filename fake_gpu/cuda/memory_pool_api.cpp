// SPDX-License-Identifier: Apache-2.0
//
// Memory pools: cuMemPool*, cuMemAllocAsync, cuMemFreeAsync. A pool only counts what it has handed
// out; its memory returns to the device when it is freed.
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/graphs.h"
#include "cuda/host_work.h"
#include "cuda/memory.h"
#include "cuda/settings.h"
#include "cuda/state.h"

struct CUmemPoolHandle_st {
  int device = 0;
  std::array<cuuint64_t, 9> attributes = {0, 1, 1, 1, 0};  // by CUmemPool_attribute
};

namespace fake_gpu {
namespace {

struct Pools {
  std::mutex mutex;
  std::map<int, CUmemoryPool> default_pool;
  std::map<int, CUmemoryPool> current_pool;
};

Pools& pools() {
  static Pools& instance = *new Pools;  // leaked: used at exit
  return instance;
}

bool Exists(CUdevice device) {
  return device >= 0 && device < settings().devices;
}

CUmemoryPool CurrentPool(int device) {
  const CUmemoryPool standard = DefaultPool(device);
  const std::lock_guard lock(pools().mutex);
  const auto found = pools().current_pool.find(device);
  return found == pools().current_pool.end() ? standard : found->second;
}

bool IsFlag(CUmemPool_attribute attribute) {
  return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

bool IsHigh(CUmemPool_attribute attribute) {
  return attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
         attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
}

bool IsKnown(CUmemPool_attribute attribute) {
  return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
         attribute <= CU_MEMPOOL_ATTR_USED_MEM_HIGH;
}

CUresult AllocateInCapture(CUdeviceptr* out, std::size_t bytes, CUstream_st& stream) {
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.poolProps.location.id = stream.context->device;
  params.bytesize = bytes;
  MemAllocNode node;
  const CUresult result = AllocateForGraph(params, node);
  FAKE_GPU_REQUIRE(result == CUDA_SUCCESS, result);
  *out = node.params.dptr;
  return AddCaptured(stream, std::move(node));
}

CUresult AllocateFrom(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool, CUstream handle) {
  FAKE_GPU_REQUIRE(out != nullptr && bytes != 0, CUDA_ERROR_INVALID_VALUE);
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  if (IsCapturing(*stream)) return AllocateInCapture(out, bytes, *stream);
  Allocation wanted;
  wanted.bytes = bytes;
  wanted.context = stream->context;
  wanted.pool = pool == nullptr ? CurrentPool(stream->context->device) : pool;
  wanted.device = wanted.pool->device;
  return Allocate(wanted, reinterpret_cast<void**>(out));
}

}  // namespace

CUmemoryPool DefaultPool(int device) {
  const std::lock_guard lock(pools().mutex);
  CUmemoryPool& pool = pools().default_pool[device];
  if (pool == nullptr) {
    pool = new CUmemPoolHandle_st;  // leaked: exists as long as its device
    pool->device = device;
  }
  return pool;
}

}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                                                 CUstream stream) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(pool != nullptr, CUDA_ERROR_INVALID_VALUE);
  return AllocateFrom(out, bytes, pool, stream);
}
FAKE_GPU_ALIAS("cuMemAllocFromPoolAsync_ptsz", "cuMemAllocFromPoolAsync");

FAKE_GPU_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream stream) {
  FAKE_GPU_REQUIRE_READY();
  return AllocateFrom(out, bytes, nullptr, stream);
}
FAKE_GPU_ALIAS("cuMemAllocAsync_ptsz", "cuMemAllocAsync");

FAKE_GPU_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  if (IsCapturing(*stream)) return AddCaptured(*stream, MemFreeNode{address});
  const auto base = static_cast<std::uintptr_t>(address);
  const std::optional<Allocation> found = FindAllocation(base);
  FAKE_GPU_REQUIRE(found && found->base == base, CUDA_ERROR_INVALID_VALUE);
  RunInOrder(*stream, [base] { Free(base); });
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuMemFreeAsync_ptsz", "cuMemFreeAsync");

FAKE_GPU_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  *out = DefaultPool(device);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  *out = CurrentPool(device);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(pool != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  const std::lock_guard lock(pools().mutex);
  pools().current_pool[device] = pool;
  return CUDA_SUCCESS;
}

// The pools of a location: only devices have pools.
FAKE_GPU_EXPORT CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location,
                                                CUmemAllocationType) {
  FAKE_GPU_REQUIRE(location != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(location->type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
  return cuDeviceGetDefaultMemPool(out, location->id);
}

FAKE_GPU_EXPORT CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location,
                                         CUmemAllocationType) {
  FAKE_GPU_REQUIRE(location != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(location->type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
  return cuDeviceGetMemPool(out, location->id);
}

FAKE_GPU_EXPORT CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType,
                                         CUmemoryPool pool) {
  FAKE_GPU_REQUIRE(location != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(location->type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
  return cuDeviceSetMemPool(location->id, pool);
}

FAKE_GPU_EXPORT CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && properties != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(properties->handleTypes == CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED);
  FAKE_GPU_REQUIRE(
      properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE && Exists(properties->location.id),
      CUDA_ERROR_INVALID_DEVICE);
  *out = new CUmemPoolHandle_st;
  (*out)->device = properties->location.id;
  return CUDA_SUCCESS;
}

// The pool's allocations remain valid until they are freed, and refer to the pool.
FAKE_GPU_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(pool != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(pools().mutex);
  for (const auto& [device, standard] : pools().default_pool) {
    if (standard == pool) return CUDA_ERROR_INVALID_VALUE;
  }
  auto& current = pools().current_pool;
  for (auto at = current.begin(); at != current.end();) {
    at = at->second == pool ? current.erase(at) : std::next(at);
  }
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(pool != nullptr, CUDA_ERROR_INVALID_VALUE);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                               void* value) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(pool != nullptr && value != nullptr && IsKnown(attribute),
                   CUDA_ERROR_INVALID_VALUE);
  if (IsHigh(attribute)) {
    ResetHigh(pool);
    return CUDA_SUCCESS;
  }
  cuuint64_t number = 0;
  std::memcpy(&number, value, IsFlag(attribute) ? sizeof(int) : sizeof number);
  const std::lock_guard lock(pools().mutex);
  pool->attributes[attribute] = number;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                               void* value) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(pool != nullptr && value != nullptr && IsKnown(attribute),
                   CUDA_ERROR_INVALID_VALUE);
  const PoolUse use = UseOf(pool);
  const std::lock_guard lock(pools().mutex);
  cuuint64_t number = pool->attributes[attribute];
  if (attribute >= CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) {
    number = IsHigh(attribute) ? use.high : use.current;
  }
  std::memcpy(value, &number, IsFlag(attribute) ? sizeof(int) : sizeof number);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc*, size_t) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(pool != nullptr, CUDA_ERROR_INVALID_VALUE);
  return CUDA_SUCCESS;
}

// Every device has access, because device memory is host memory.
FAKE_GPU_EXPORT CUresult cuMemPoolGetAccess(CUmemAccess_flags* out, CUmemoryPool pool,
                                            CUmemLocation*) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && pool != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}
