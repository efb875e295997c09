// SPDX-License-Identifier: Apache-2.0
//
// Copies: cuMemcpy*. They take time on their stream and have no records.
#include <cstring>

#include "cuda/copies.h"
#include "cuda/stream_work.h"

using namespace fake_gpu;

namespace {

CUresult CopyNow(const void* to, const void* from, std::size_t bytes) {
  return RunNow(LinearCopy(to, from, bytes));
}

CUresult CopyLater(const void* to, const void* from, std::size_t bytes, CUstream stream) {
  return Enqueue(stream, LinearCopy(to, from, bytes));
}

const void* Pointer(CUdeviceptr address) {
  return reinterpret_cast<const void*>(address);
}

// Contexts do not matter, because all devices share the memory of the host.
CUDA_MEMCPY3D WithoutContexts(const CUDA_MEMCPY3D_PEER& c) {
  static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER));
  CUDA_MEMCPY3D copy;
  std::memcpy(&copy, &c, sizeof copy);
  return copy;
}

}  // namespace

// Exports a copy that runs before its call returns, and its variant for per-thread streams.
#define FAKE_GPU_COPY(name, parameters, ...) \
  FAKE_GPU_EXPORT CUresult name parameters { \
    return __VA_ARGS__;                      \
  }                                          \
  FAKE_GPU_ALIAS(#name "_ptds", #name)
// The same for a copy of a stream.
#define FAKE_GPU_STREAM_COPY(name, parameters, ...) \
  FAKE_GPU_EXPORT CUresult name parameters {        \
    return __VA_ARGS__;                             \
  }                                                 \
  FAKE_GPU_ALIAS(#name "_ptsz", #name)

FAKE_GPU_COPY(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
              CopyNow(Pointer(to), Pointer(from), bytes));
FAKE_GPU_COPY(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes),
              CopyNow(Pointer(to), from, bytes));
FAKE_GPU_COPY(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes),
              CopyNow(to, Pointer(from), bytes));
FAKE_GPU_COPY(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
              CopyNow(Pointer(to), Pointer(from), bytes));
FAKE_GPU_COPY(cuMemcpyPeer, (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes),
              CopyNow(Pointer(to), Pointer(from), bytes));
FAKE_GPU_COPY(cuMemcpy2D_v2, (const CUDA_MEMCPY2D* copy), RunNow(ToThreeDimensions(*copy)));
FAKE_GPU_COPY(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D* copy),
              RunNow(ToThreeDimensions(*copy)));
FAKE_GPU_COPY(cuMemcpy3D_v2, (const CUDA_MEMCPY3D* copy), RunNow(*copy));
FAKE_GPU_COPY(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER* copy), RunNow(WithoutContexts(*copy)));

FAKE_GPU_STREAM_COPY(cuMemcpyAsync,
                     (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                     CopyLater(Pointer(to), Pointer(from), bytes, stream));
FAKE_GPU_STREAM_COPY(cuMemcpyHtoDAsync_v2,
                     (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
                     CopyLater(Pointer(to), from, bytes, stream));
FAKE_GPU_STREAM_COPY(cuMemcpyDtoHAsync_v2,
                     (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
                     CopyLater(to, Pointer(from), bytes, stream));
FAKE_GPU_STREAM_COPY(cuMemcpyDtoDAsync_v2,
                     (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                     CopyLater(Pointer(to), Pointer(from), bytes, stream));
FAKE_GPU_STREAM_COPY(cuMemcpyPeerAsync,
                     (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                      CUstream stream),
                     CopyLater(Pointer(to), Pointer(from), bytes, stream));
FAKE_GPU_STREAM_COPY(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D* copy, CUstream stream),
                     Enqueue(stream, ToThreeDimensions(*copy)));
FAKE_GPU_STREAM_COPY(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D* copy, CUstream stream),
                     Enqueue(stream, *copy));
FAKE_GPU_STREAM_COPY(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER* copy, CUstream stream),
                     Enqueue(stream, WithoutContexts(*copy)));

FAKE_GPU_ALIAS("cuMemcpyHtoD", "cuMemcpyHtoD_v2");
FAKE_GPU_ALIAS("cuMemcpyDtoH", "cuMemcpyDtoH_v2");
FAKE_GPU_ALIAS("cuMemcpyDtoD", "cuMemcpyDtoD_v2");
FAKE_GPU_ALIAS("cuMemcpy2D", "cuMemcpy2D_v2");
FAKE_GPU_ALIAS("cuMemcpy2DUnaligned", "cuMemcpy2DUnaligned_v2");
FAKE_GPU_ALIAS("cuMemcpy3D", "cuMemcpy3D_v2");
FAKE_GPU_ALIAS("cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2");
FAKE_GPU_ALIAS("cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2");
FAKE_GPU_ALIAS("cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2");
FAKE_GPU_ALIAS("cuMemcpy2DAsync", "cuMemcpy2DAsync_v2");
FAKE_GPU_ALIAS("cuMemcpy3DAsync", "cuMemcpy3DAsync_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes,
                                               size_t count, CUmemcpyAttributes*, size_t*, size_t,
                                               CUstream stream) {
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result = CopyLater(Pointer(to[i]), Pointer(from[i]), bytes[i], stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuMemcpyBatchAsync_v2_ptsz", "cuMemcpyBatchAsync_v2");

#undef cuMemcpyBatchAsync
FAKE_GPU_EXPORT CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes,
                                            size_t count, CUmemcpyAttributes* attributes,
                                            size_t* indexes, size_t attribute_count, size_t*,
                                            CUstream stream) {
  return cuMemcpyBatchAsync_v2(to, from, bytes, count, attributes, indexes, attribute_count,
                               stream);
}
FAKE_GPU_ALIAS("cuMemcpyBatchAsync_ptsz", "cuMemcpyBatchAsync");
