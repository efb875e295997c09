// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, and the capture of streams.
#include "runtime.h"

using cuda_runtime::Remember;

RUNTIME_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags,
                                                     int priority) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamCreateWithPriority(stream, flags, priority));
}

RUNTIME_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

RUNTIME_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, 0, 0);
}

RUNTIME_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamDestroy(stream));
}

RUNTIME_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamSynchronize(stream));
}

RUNTIME_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamQuery(stream));
}

RUNTIME_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                            unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamWaitEvent(stream, event, flags));
}

RUNTIME_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamGetPriority(stream, priority));
}

RUNTIME_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamGetFlags(stream, flags));
}

RUNTIME_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                              void* data, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(
      cuStreamAddCallback(stream, reinterpret_cast<CUstreamCallback>(callback), data, flags));
}

RUNTIME_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuLaunchHostFunc(stream, function, data));
}

RUNTIME_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuEventCreate(event, flags));
}

RUNTIME_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, 0);
}

RUNTIME_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuEventDestroy(event));
}

RUNTIME_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuEventRecord(event, stream));
}

RUNTIME_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                 unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuEventRecordWithFlags(event, stream, flags));
}

RUNTIME_API cudaError_t cudaEventQuery(cudaEvent_t event) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuEventQuery(event));
}

RUNTIME_API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuEventSynchronize(event));
}

RUNTIME_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin,
                                             cudaEvent_t end) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuEventElapsedTime(milliseconds, begin, end));
}

RUNTIME_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode)));
}

RUNTIME_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                      const cudaGraphNode_t* dependencies,
                                                      const cudaGraphEdgeData* edges, size_t count,
                                                      cudaStreamCaptureMode mode) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamBeginCaptureToGraph(stream, graph, dependencies,
                                              reinterpret_cast<const CUgraphEdgeData*>(edges),
                                              count, static_cast<CUstreamCaptureMode>(mode)));
}

RUNTIME_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamEndCapture(stream, graph));
}

RUNTIME_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                              cudaStreamCaptureStatus* status) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)));
}

RUNTIME_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                                 cudaStreamCaptureStatus* status,
                                                 unsigned long long* id, cudaGraph_t* graph,
                                                 const cudaGraphNode_t** dependencies,
                                                 const cudaGraphEdgeData** edges, size_t* count) {
  RUNTIME_REQUIRE_CONTEXT();
  cuuint64_t number = 0;
  const CUresult result = cuStreamGetCaptureInfo(
      stream, reinterpret_cast<CUstreamCaptureStatus*>(status), &number, graph, dependencies,
      reinterpret_cast<const CUgraphEdgeData**>(edges), count);
  if (id != nullptr) *id = number;
  return Remember(result);
}

RUNTIME_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                            cudaGraphNode_t* dependencies,
                                                            const cudaGraphEdgeData* edges,
                                                            size_t count, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuStreamUpdateCaptureDependencies(
      stream, dependencies, reinterpret_cast<const CUgraphEdgeData*>(edges), count, flags));
}

RUNTIME_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode)));
}
