// SPDX-License-Identifier: Apache-2.0
//
// Host functions of streams: cuLaunchHostFunc, cuStreamAddCallback. They run on the thread of
// host_work.h.
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/host_work.h"
#include "cuda/state.h"

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* argument) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  FAKE_GPU_REQUIRE(function != nullptr, CUDA_ERROR_INVALID_VALUE);
  NextCorrelation();
  if (IsCapturing(*stream)) return AddCaptured(*stream, CUDA_HOST_NODE_PARAMS{function, argument});
  PostHostWork(*stream, ReadyTime(*stream), [function, argument] { function(argument); });
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuLaunchHostFunc_ptsz", "cuLaunchHostFunc");

FAKE_GPU_EXPORT CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback,
                                             void* argument, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  FAKE_GPU_REQUIRE(callback != nullptr, CUDA_ERROR_INVALID_VALUE);
  NextCorrelation();
  if (IsCapturing(*stream)) return RefuseCaptured(*stream);
  PostHostWork(*stream, ReadyTime(*stream),
               [handle, callback, argument] { callback(handle, CUDA_SUCCESS, argument); });
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamAddCallback_ptsz", "cuStreamAddCallback");
