// SPDX-License-Identifier: Apache-2.0
//
// Settings of contexts: limits, caches, flags, affinity. They are stored and have no effect.
#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

std::size_t DefaultLimit(CUlimit limit) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return 1024;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return std::size_t{7} << 20;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return std::size_t{8} << 20;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
      return 2;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return 2048;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      return 128;
    default:
      return 0;
  }
}

bool IsLimit(CUlimit limit) {
  return limit >= CU_LIMIT_STACK_SIZE && limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
}

// Returns success if a context is current.
CUresult WithContext() {
  FAKE_GPU_REQUIRE_READY();
  return CurrentContext() == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  FAKE_GPU_REQUIRE_READY();
  CUctx_st* context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  FAKE_GPU_REQUIRE(IsLimit(limit), CUDA_ERROR_UNSUPPORTED_LIMIT);
  const std::lock_guard lock(context->mutex);
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  FAKE_GPU_REQUIRE_READY();
  CUctx_st* context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  FAKE_GPU_REQUIRE(value != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(IsLimit(limit), CUDA_ERROR_UNSUPPORTED_LIMIT);
  const std::lock_guard lock(context->mutex);
  const auto found = context->limits.find(limit);
  *value = found == context->limits.end() ? DefaultLimit(limit) : found->second;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long* out) {
  FAKE_GPU_REQUIRE_READY();
  if (context == nullptr) context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr && out != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *out = context->uid;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxSetFlags(unsigned flags) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(CurrentContext() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  CurrentContext()->flags = flags;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxGetDevice_v2(CUdevice* out, CUcontext context) {
  FAKE_GPU_REQUIRE_READY();
  if (context == nullptr) context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = context->device;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context) {
  FAKE_GPU_REQUIRE_READY();
  if (context == nullptr) context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  Synchronize(*context);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxGetCacheConfig(CUfunc_cache* out) {
  if (out != nullptr) *out = CU_FUNC_CACHE_PREFER_NONE;
  return WithContext();
}
FAKE_GPU_EXPORT CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  return WithContext();
}
FAKE_GPU_EXPORT CUresult cuCtxGetSharedMemConfig(CUsharedconfig* out) {
  if (out != nullptr) *out = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return WithContext();
}
FAKE_GPU_EXPORT CUresult cuCtxSetSharedMemConfig(CUsharedconfig) {
  return WithContext();
}
FAKE_GPU_EXPORT CUresult cuCtxResetPersistingL2Cache(void) {
  return WithContext();
}
FAKE_GPU_EXPORT CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget,
                                                    CUflushGPUDirectRDMAWritesScope) {
  return WithContext();
}

// Contexts with execution affinity need MPS, which the simulated driver lacks.
FAKE_GPU_EXPORT CUresult cuCtxGetExecAffinity(CUexecAffinityParam*, CUexecAffinityType) {
  return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}
FAKE_GPU_EXPORT CUresult cuDeviceGetExecAffinitySupport(int* out, CUexecAffinityType, CUdevice) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = 0;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxAttach(CUcontext* out, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(CurrentContext() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = CurrentContext();
  return CUDA_SUCCESS;
}
FAKE_GPU_EXPORT CUresult cuCtxDetach(CUcontext context) {
  FAKE_GPU_REQUIRE_READY();
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

// Core dumps are never written.
FAKE_GPU_EXPORT CUresult cuCoredumpGetAttribute(CUcoredumpSettings, void* value, size_t* bytes) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(value != nullptr && bytes != nullptr, CUDA_ERROR_INVALID_VALUE);
  if (*bytes != 0) *static_cast<char*>(value) = 0;
  *bytes = 0;
  return CUDA_SUCCESS;
}
FAKE_GPU_EXPORT CUresult cuCoredumpGetAttributeGlobal(CUcoredumpSettings setting, void* value,
                                                      size_t* bytes) {
  return cuCoredumpGetAttribute(setting, value, bytes);
}
FAKE_GPU_EXPORT CUresult cuCoredumpSetAttribute(CUcoredumpSettings, void*, size_t*) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}
FAKE_GPU_EXPORT CUresult cuCoredumpSetAttributeGlobal(CUcoredumpSettings, void*, size_t*) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}
