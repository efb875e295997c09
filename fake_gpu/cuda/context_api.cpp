// SPDX-License-Identifier: Apache-2.0
//
// Contexts: cuCtx*, cuDevicePrimaryCtx*.
#include <cupti.h>

#include <algorithm>

#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/memory.h"
#include "cuda/settings.h"
#include "cuda/state.h"
#include "cuda/truth.h"

namespace fake_gpu {
namespace {

constexpr int kStackDepth = 64;

struct ContextStack {
  CUctx_st* items[kStackDepth];
  int depth;
};
thread_local ContextStack t_stack = {};

struct Contexts {
  std::mutex mutex;
  std::vector<std::unique_ptr<CUctx_st>> all;  // primary contexts are kept with their handles
  std::map<int, CUctx_st*> primary;
  std::uint32_t next_uid = 1;
};

Contexts& contexts() {
  static Contexts& instance = *new Contexts;  // leaked: used at exit
  return instance;
}

// REQUIRES: contexts().mutex is held.
CUctx_st* NewContext(int device, unsigned flags) {
  auto context = std::make_unique<CUctx_st>();
  context->device = device;
  context->uid = contexts().next_uid++;
  context->flags = flags;
  context->default_stream.context = context.get();
  contexts().all.push_back(std::move(context));
  return contexts().all.back().get();
}

void Push(CUctx_st* context) {
  if (t_stack.depth < kStackDepth) t_stack.items[t_stack.depth++] = context;
}

void Empty(CUctx_st& context) {
  Synchronize(context);
  TellResource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &context, nullptr, 0);
  const std::lock_guard lock(context.mutex);
  for (const auto& module : context.modules) RetireForTruth(*module);
  context.modules.clear();
  context.streams.clear();
  FreeAllOf(context);
}

CUresult Create(CUcontext* out, unsigned flags, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(device >= 0 && device < settings().devices, CUDA_ERROR_INVALID_DEVICE);
  {
    const std::lock_guard lock(contexts().mutex);
    *out = NewContext(device, flags);
  }
  Push(*out);
  TellResource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, *out, nullptr, 0);
  return CUDA_SUCCESS;
}

}  // namespace

CUctx_st* CurrentContext() {
  return t_stack.depth == 0 ? nullptr : t_stack.items[t_stack.depth - 1];
}

CUctx_st* PrimaryContext(int device) {
  if (device < 0 || device >= settings().devices) return nullptr;
  CUctx_st* context;
  {
    const std::lock_guard lock(contexts().mutex);
    CUctx_st*& primary = contexts().primary[device];
    if (primary != nullptr) return primary;
    context = primary = NewContext(device, 0);
  }
  TellResource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, nullptr, 0);
  return context;
}

CUstream_st* ResolveStream(CUstream handle) {
  if (handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
    return handle;
  }
  CUctx_st* context = CurrentContext();
  return context == nullptr ? nullptr : &context->default_stream;
}

CUstream_st* NewStream(CUctx_st& context, std::optional<std::uint32_t> id) {
  auto stream = std::make_unique<CUstream_st>();
  stream->context = &context;
  CUstream_st* created = stream.get();
  {
    const std::lock_guard lock(context.mutex);
    stream->id = id ? *id : context.next_stream_id++;
    context.streams.push_back(std::move(stream));
  }
  TellResource(CUPTI_CBID_RESOURCE_STREAM_CREATED, &context, created, 0);
  return created;
}

}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams*, unsigned flags,
                                        CUdevice device) {
  return Create(out, flags, device);
}
FAKE_GPU_EXPORT CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam*, int, unsigned flags,
                                        CUdevice device) {
  return Create(out, flags, device);
}
FAKE_GPU_EXPORT CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  return Create(out, flags, device);
}
FAKE_GPU_ALIAS("cuCtxCreate", "cuCtxCreate_v2");

FAKE_GPU_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  Empty(*context);
  if (CurrentContext() == context) --t_stack.depth;
  const std::lock_guard lock(contexts().mutex);
  auto& all = contexts().all;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [context](const auto& one) { return one.get() == context; }),
            all.end());
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuCtxDestroy", "cuCtxDestroy_v2");

FAKE_GPU_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  Push(context);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuCtxPushCurrent", "cuCtxPushCurrent_v2");

FAKE_GPU_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(t_stack.depth != 0, CUDA_ERROR_INVALID_CONTEXT);
  if (out != nullptr) *out = CurrentContext();
  --t_stack.depth;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuCtxPopCurrent", "cuCtxPopCurrent_v2");

FAKE_GPU_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  FAKE_GPU_REQUIRE_READY();
  if (t_stack.depth != 0) --t_stack.depth;
  if (context != nullptr) Push(context);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxGetCurrent(CUcontext* out) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = CurrentContext();
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxGetDevice(CUdevice* out) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(CurrentContext() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *out = CurrentContext()->device;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxGetFlags(unsigned* out) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(CurrentContext() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *out = CurrentContext()->flags;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxGetApiVersion(CUcontext, unsigned* out) {
  FAKE_GPU_REQUIRE_READY();
  *out = 3020;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxSynchronize(void) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(CurrentContext() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  Synchronize(*CurrentContext());
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  FAKE_GPU_REQUIRE_READY();
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  CUctx_st* context = PrimaryContext(device);
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_DEVICE);
  const std::lock_guard lock(contexts().mutex);
  ++context->references;
  *out = context;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  CUctx_st* last = nullptr;
  {
    const std::lock_guard lock(contexts().mutex);
    const auto found = contexts().primary.find(device);
    if (found == contexts().primary.end() || found->second->references == 0) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (--found->second->references == 0) last = found->second;
  }
  if (last != nullptr) Empty(*last);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2");

FAKE_GPU_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  CUctx_st* context = PrimaryContext(device);
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_DEVICE);
  Empty(*context);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2");

FAKE_GPU_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  FAKE_GPU_REQUIRE_READY();
  const std::lock_guard lock(contexts().mutex);
  const auto found = contexts().primary.find(device);
  *flags = 0;
  *active = found != contexts().primary.end() && found->second->references > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2");

FAKE_GPU_EXPORT CUresult fakeGpuContextUid(CUcontext context, uint32_t* uid) {
  FAKE_GPU_REQUIRE(context != nullptr && uid != nullptr, CUDA_ERROR_INVALID_VALUE);
  *uid = context->uid;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult fakeGpuContextDevice(CUcontext context, uint32_t* device) {
  FAKE_GPU_REQUIRE(context != nullptr && device != nullptr, CUDA_ERROR_INVALID_VALUE);
  *device = static_cast<uint32_t>(context->device);
  return CUDA_SUCCESS;
}
