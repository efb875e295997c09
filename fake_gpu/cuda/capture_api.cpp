// SPDX-License-Identifier: Apache-2.0
//
// Stream capture: cuStreamBeginCapture*, cuStreamEndCapture, cuStreamGetCaptureInfo and related
// functions.
#include <cupti.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "cuda/api_call.h"
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/graphs.h"

namespace fake_gpu {
namespace {

// Guards the graphs and the stream lists of all captures, because several threads may add to one.
std::mutex g_mutex;

void Merge(std::vector<CUgraphNode>& tail, const std::vector<CUgraphNode>& more) {
  for (const CUgraphNode node : more) {
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
}

void Join(CUstream_st& stream, const std::shared_ptr<Capture>& capture) {
  stream.capture = capture;
  capture->streams.push_back(&stream);
}

CUresult Begin(CUstream handle, CUgraph graph, bool owns_graph, CUstreamCaptureMode mode,
               std::vector<CUgraphNode> tail) {
  static std::atomic<std::uint64_t> next_id{1};
  FAKE_GPU_REQUIRE(handle != nullptr && handle != CU_STREAM_LEGACY,
                   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  FAKE_GPU_REQUIRE(!IsCapturing(*stream), CUDA_ERROR_ILLEGAL_STATE);
  auto capture = std::make_shared<Capture>();
  capture->id = next_id.fetch_add(1, std::memory_order_relaxed);
  capture->graph = graph == nullptr ? NewGraph() : graph;
  capture->owns_graph = owns_graph;
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  const std::lock_guard lock(g_mutex);
  Join(*stream, capture);
  stream->capture_tail = std::move(tail);
  return CUDA_SUCCESS;
}

// Returns whether every node in `nodes` is one of `ends` or comes before one of them.
bool AreBefore(const std::vector<CUgraphNode>& nodes, const std::vector<CUgraphNode>& ends) {
  std::set<CUgraphNode> before;
  std::vector<CUgraphNode> open = ends;
  while (!open.empty()) {
    const CUgraphNode node = open.back();
    open.pop_back();
    if (!before.insert(node).second) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](CUgraphNode node) { return before.contains(node); });
}

CUresult ResultOf(const Capture& capture) {
  if (capture.is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  for (const CUstream stream : capture.streams) {
    if (!AreBefore(stream->capture_tail, capture.origin->capture_tail)) {
      return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
  }
  return CUDA_SUCCESS;
}

CUresult End(CUstream handle, CUgraph* out) {
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::shared_ptr<Capture> capture = stream->capture;
  FAKE_GPU_REQUIRE(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  FAKE_GPU_REQUIRE(capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
                       capture->thread == std::this_thread::get_id(),
                   CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const std::lock_guard lock(g_mutex);
  if (capture->origin != stream) {
    capture->is_invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  const CUresult result = ResultOf(*capture);
  for (const CUstream joined : capture->streams) {
    joined->capture_tail.clear();
    joined->capture.reset();
  }
  *out = capture->graph;
  if (result != CUDA_SUCCESS) {
    *out = nullptr;
    if (capture->owns_graph) delete capture->graph;
  }
  capture->graph = nullptr;
  return result;
}

// Returns whether a stream that the legacy default stream waits for is being captured. CUDA then
// refuses queries of the default stream.
bool CaptureForbidsDefault(CUctx_st& context) {
  const std::lock_guard lock(context.mutex);
  for (const auto& stream : context.streams) {
    if (IsCapturing(*stream) && (stream->flags & CU_STREAM_NON_BLOCKING) == 0) return true;
  }
  return false;
}

CUstreamCaptureStatus StatusOf(const CUstream_st& stream) {
  if (!IsCapturing(stream)) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

// Stores the state of a capture. Null pointers are ignored, except `status`.
CUresult Info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
              const CUgraphNode** nodes, const CUgraphEdgeData** edges, std::size_t* count) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && status != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(stream == handle || handle == CU_STREAM_PER_THREAD ||
                       !CaptureForbidsDefault(*stream->context),
                   CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  *status = StatusOf(*stream);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  thread_local std::vector<CUgraphEdgeData> no_data;
  no_data.assign(stream->capture_tail.size(), CUgraphEdgeData{});
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = stream->capture->graph;
  if (nodes != nullptr) *nodes = stream->capture_tail.data();
  if (edges != nullptr) *edges = no_data.data();
  if (count != nullptr) *count = stream->capture_tail.size();
  return CUDA_SUCCESS;
}

CUresult UpdateTail(CUstream handle, const CUgraphNode* nodes, std::size_t count, unsigned flags) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(StatusOf(*stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE, CUDA_ERROR_ILLEGAL_STATE);
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->capture_tail.clear();
  Merge(stream->capture_tail, {nodes, nodes + count});
  return CUDA_SUCCESS;
}

}  // namespace

CUresult AddCaptured(CUstream_st& stream, NodeWork work) {
  const std::lock_guard lock(g_mutex);
  if (stream.capture->is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const CUgraphNode node = AddNode(*stream.capture->graph, stream.capture_tail, std::move(work));
  stream.capture_tail.assign(1, node);
  return CUDA_SUCCESS;
}

std::optional<CUresult> RecordCaptured(CUevent_st& event, CUstream_st& stream, unsigned flags) {
  if (!IsCapturing(stream)) {
    event.capture.reset();
    return std::nullopt;
  }
  if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
    return AddCaptured(stream, EventRecordNode{&event});
  }
  event.capture = stream.capture;
  event.capture_nodes = stream.capture_tail;
  return CUDA_SUCCESS;
}

std::optional<CUresult> WaitCaptured(CUstream_st& stream, CUevent_st& event, unsigned flags) {
  if (event.capture == nullptr || !event.capture->is_active()) {
    if (!IsCapturing(stream)) return std::nullopt;
    if ((flags & CU_EVENT_WAIT_EXTERNAL) != 0) return AddCaptured(stream, EventWaitNode{&event});
    // An event that was never recorded is no dependency.
    if (event.time_ns.load(std::memory_order_relaxed) == 0) return CUDA_SUCCESS;
    stream.capture->is_invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  const std::lock_guard lock(g_mutex);
  if (!IsCapturing(stream)) {
    Join(stream, event.capture);
  } else if (stream.capture != event.capture) {
    stream.capture->is_invalid = event.capture->is_invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  Merge(stream.capture_tail, event.capture_nodes);
  return CUDA_SUCCESS;
}

CUresult RefuseCaptured(CUstream_st& stream) {
  stream.capture->is_invalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void LeaveCapture(CUstream_st& stream) {
  if (!IsCapturing(stream)) return;
  const std::lock_guard lock(g_mutex);
  std::erase(stream.capture->streams, &stream);
  if (stream.capture->origin == &stream) stream.capture->is_invalid = true;
}

}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  FAKE_GPU_REQUIRE_READY();
  const cuStreamBeginCapture_v2_params params = {handle, mode};
  ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2", &params,
               nullptr, CurrentContext());
  return call.Return(Begin(handle, nullptr, true, mode, {}));
}
FAKE_GPU_ALIAS("cuStreamBeginCapture_v2_ptsz", "cuStreamBeginCapture_v2");

#undef cuStreamBeginCapture
FAKE_GPU_EXPORT CUresult cuStreamBeginCapture(CUstream handle) {
  return cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
FAKE_GPU_ALIAS("cuStreamBeginCapture_ptsz", "cuStreamBeginCapture");

FAKE_GPU_EXPORT CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph,
                                                     const CUgraphNode* dependencies,
                                                     const CUgraphEdgeData*, size_t count,
                                                     CUstreamCaptureMode mode) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
  const cuStreamBeginCaptureToGraph_params params = {handle,  graph, dependencies,
                                                     nullptr, count, mode};
  ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph",
               &params, nullptr, CurrentContext());
  return call.Return(Begin(handle, graph, false, mode, {dependencies, dependencies + count}));
}
FAKE_GPU_ALIAS("cuStreamBeginCaptureToGraph_ptsz", "cuStreamBeginCaptureToGraph");

FAKE_GPU_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
  FAKE_GPU_REQUIRE_READY();
  const cuStreamEndCapture_params params = {handle, out};
  ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, "cuStreamEndCapture", &params, nullptr,
               CurrentContext());
  return call.Return(End(handle, out));
}
FAKE_GPU_ALIAS("cuStreamEndCapture_ptsz", "cuStreamEndCapture");

FAKE_GPU_EXPORT CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return Info(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
FAKE_GPU_ALIAS("cuStreamIsCapturing_ptsz", "cuStreamIsCapturing");

FAKE_GPU_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status,
                                                   cuuint64_t* id, CUgraph* graph,
                                                   const CUgraphNode** nodes,
                                                   const CUgraphEdgeData** edges, size_t* count) {
  return Info(handle, status, id, graph, nodes, edges, count);
}
FAKE_GPU_ALIAS("cuStreamGetCaptureInfo_v3_ptsz", "cuStreamGetCaptureInfo_v3");

FAKE_GPU_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status,
                                                   cuuint64_t* id, CUgraph* graph,
                                                   const CUgraphNode** nodes, size_t* count) {
  return Info(handle, status, id, graph, nodes, nullptr, count);
}
FAKE_GPU_ALIAS("cuStreamGetCaptureInfo_v2_ptsz", "cuStreamGetCaptureInfo_v2");

#undef cuStreamGetCaptureInfo
FAKE_GPU_EXPORT CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status,
                                                cuuint64_t* id) {
  return Info(handle, status, id, nullptr, nullptr, nullptr, nullptr);
}
FAKE_GPU_ALIAS("cuStreamGetCaptureInfo_ptsz", "cuStreamGetCaptureInfo");

FAKE_GPU_EXPORT CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* nodes,
                                                              const CUgraphEdgeData*, size_t count,
                                                              unsigned flags) {
  return UpdateTail(handle, nodes, count, flags);
}
FAKE_GPU_ALIAS("cuStreamUpdateCaptureDependencies_v2_ptsz", "cuStreamUpdateCaptureDependencies_v2");

#undef cuStreamUpdateCaptureDependencies
FAKE_GPU_EXPORT CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* nodes,
                                                           size_t count, unsigned flags) {
  return UpdateTail(handle, nodes, count, flags);
}
FAKE_GPU_ALIAS("cuStreamUpdateCaptureDependencies_ptsz", "cuStreamUpdateCaptureDependencies");

// The mode is only stored: calls that are unsafe during a capture are permitted in every mode.
FAKE_GPU_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  FAKE_GPU_REQUIRE(mode != nullptr, CUDA_ERROR_INVALID_VALUE);
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}
