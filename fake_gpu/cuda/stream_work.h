// SPDX-License-Identifier: Apache-2.0
//
// Runs copies and memsets, at once or on a stream.
//
// THREADS: any.
#pragma once

#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/copies.h"
#include "cuda/engine.h"
#include "cuda/host_work.h"
#include "cuda/state.h"

namespace fake_gpu {

// Adds a copy or memset to a stream.
template <typename Operation>
CUresult Enqueue(CUstream handle, const Operation& operation) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(IsValid(operation), CUDA_ERROR_INVALID_VALUE);
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  if (IsCapturing(*stream)) return AddCaptured(*stream, operation);
  Occupy(*stream, DurationNs(operation));
  RunInOrder(*stream, [operation] { Perform(operation); });
  return CUDA_SUCCESS;
}

// Runs a copy or memset of the default stream and waits for it.
template <typename Operation>
CUresult RunNow(const Operation& operation) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(IsValid(operation), CUDA_ERROR_INVALID_VALUE);
  CUctx_st* context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  SynchronizeBlockingStreams(*context);
  const std::uint64_t end_ns = Occupy(context->default_stream, DurationNs(operation));
  Perform(operation);
  WaitUntil(end_ns);
  return CUDA_SUCCESS;
}

}  // namespace fake_gpu
