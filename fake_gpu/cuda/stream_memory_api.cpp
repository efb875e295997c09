// SPDX-License-Identifier: Apache-2.0
//
// Memory operations of streams: cuStreamWaitValue*, cuStreamWriteValue*, cuStreamBatchMemOp. A
// value is written at the call, because another stream may wait for it. A wait that is not
// satisfied at the call delays later copies and host functions, but no kernels.
#include <sched.h>

#include <cstring>

#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/host_work.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

template <typename T>
T Load(CUdeviceptr address) {
  return __atomic_load_n(reinterpret_cast<const T*>(address), __ATOMIC_ACQUIRE);
}

template <typename T>
bool IsSatisfied(CUdeviceptr address, T value, unsigned flags) {
  const T now = Load<T>(address);
  switch (flags & CU_STREAM_WAIT_VALUE_NOR) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::make_signed_t<T>>(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & value) != 0;
    default:
      return static_cast<T>(~(now | value)) != 0;
  }
}

template <typename T>
CUresult Wait(CUstream handle, CUdeviceptr address, T value, unsigned flags) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && address != 0, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(!IsCapturing(*stream), CUDA_ERROR_NOT_SUPPORTED);
  if (IsSatisfied(address, value, flags)) return CUDA_SUCCESS;
  PostHostWork(*stream, 0, [address, value, flags] {
    while (!IsSatisfied(address, value, flags)) sched_yield();
  });
  return CUDA_SUCCESS;
}

template <typename T>
CUresult Write(CUstream handle, CUdeviceptr address, T value) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && address != 0, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(!IsCapturing(*stream), CUDA_ERROR_NOT_SUPPORTED);
  // Release pairs with the acquire of whoever waits for the value.
  __atomic_store_n(reinterpret_cast<T*>(address), value, __ATOMIC_RELEASE);
  return CUDA_SUCCESS;
}

CUresult Perform(CUstream stream, const CUstreamBatchMemOpParams& op) {
  switch (op.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return Wait(stream, op.waitValue.address, op.waitValue.value, op.waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return Wait(stream, op.waitValue.address, op.waitValue.value64, op.waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return Write(stream, op.writeValue.address, op.writeValue.value);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return Write(stream, op.writeValue.address, op.writeValue.value64);
    default:
      return CUDA_SUCCESS;  // barriers and flushes
  }
}

}  // namespace

// Exports a function under its names with and without `_v2` and for per-thread streams.
#define FAKE_GPU_STREAM_VALUE(name, operation, type, ...)                              \
  FAKE_GPU_EXPORT CUresult name##_v2(CUstream stream, CUdeviceptr address, type value, \
                                     [[maybe_unused]] unsigned flags) {                \
    return operation(stream, address, __VA_ARGS__);                                    \
  }                                                                                    \
  FAKE_GPU_ALIAS(#name, #name "_v2");                                                  \
  FAKE_GPU_ALIAS(#name "_ptsz", #name "_v2");                                          \
  FAKE_GPU_ALIAS(#name "_v2_ptsz", #name "_v2")

FAKE_GPU_STREAM_VALUE(cuStreamWaitValue32, Wait, cuuint32_t, value, flags);
FAKE_GPU_STREAM_VALUE(cuStreamWaitValue64, Wait, cuuint64_t, value, flags);
FAKE_GPU_STREAM_VALUE(cuStreamWriteValue32, Write, cuuint32_t, value);
FAKE_GPU_STREAM_VALUE(cuStreamWriteValue64, Write, cuuint64_t, value);

FAKE_GPU_EXPORT CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                                               CUstreamBatchMemOpParams* operations, unsigned) {
  for (unsigned i = 0; i < count; ++i) {
    const CUresult result = Perform(stream, operations[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamBatchMemOp", "cuStreamBatchMemOp_v2");
FAKE_GPU_ALIAS("cuStreamBatchMemOp_ptsz", "cuStreamBatchMemOp_v2");
FAKE_GPU_ALIAS("cuStreamBatchMemOp_v2_ptsz", "cuStreamBatchMemOp_v2");
