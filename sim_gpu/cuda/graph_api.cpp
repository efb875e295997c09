// SPDX-License-Identifier: Apache-2.0
//
// Graphs of kernel nodes: built node by node or captured from a stream, instantiated, launched. The
// nodes of a launch run in insertion order and share its correlation id. Dependencies are ignored.
#include <cupti.h>

#include "cuda/api_call.h"
#include "cuda/contexts.h"
#include "cuda/graphs.h"

namespace fake_gpu {
namespace {

std::atomic<std::uint32_t> g_next_graph_id{1};
std::atomic<std::uint64_t> g_next_node_id{1};

CUgraphExec_st::Yields YieldsNow() {
  if (HooksFor(FAKE_GPU_INTEREST_GRAPHS) != nullptr) return CUgraphExec_st::Yields::kGraph;
  return HooksFor(FAKE_GPU_INTEREST_KERNELS) != nullptr ? CUgraphExec_st::Yields::kKernels
                                                        : CUgraphExec_st::Yields::kNothing;
}

void Report(const CUgraphExec_st& exec, const CUstream_st& stream, std::uint32_t correlation_id,
            Span span) {
  const FakeGpuHooks* hooks = HooksFor(FAKE_GPU_INTEREST_GRAPHS);
  if (hooks == nullptr) return;
  FakeGpuGraph graph;
  graph.start_ns = span.start_ns;
  graph.end_ns = span.end_ns;
  graph.device = static_cast<std::uint32_t>(stream.context->device);
  graph.context_uid = stream.context->uid;
  graph.stream_id = stream.id;
  graph.correlation_id = correlation_id;
  graph.graph_id = exec.id;
  graph.step = {span.step.at_start_ns, span.step.at_end_ns};
  hooks->graph(&graph);
}

template <typename Params>
CUresult LaunchGraph(std::uint32_t cbid, const char* api_name, const Params& params,
                     CUgraphExec handle, CUstream stream_handle) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(stream_handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  ApiCall call(cbid, api_name, &params, nullptr, stream->context);
  if (handle == nullptr) return call.Return(CUDA_ERROR_INVALID_VALUE);
  const CUgraphExec_st& exec = *handle;
  Span all;
  for (const CUgraphNode_st& node : exec.nodes) {
    Launch launch;
    launch.function = node.function;
    launch.stream = stream;
    launch.grid = node.grid;
    launch.block = node.block;
    launch.shared_bytes = node.shared_bytes;
    launch.duration_ns = node.duration_ns;
    launch.launch_type = node.launch_type;
    launch.correlation_id = call.correlation_id();
    launch.graph_id = exec.id;
    launch.graph_node_id = node.id;
    launch.recorded = exec.yields == CUgraphExec_st::Yields::kKernels;
    ApplyDurationModel(launch);
    const Span span = Run(launch);
    if (&node == exec.nodes.data()) all = span;
    all.end_ns = span.end_ns;
    all.step.at_end_ns = span.step.at_end_ns;
  }
  if (exec.yields == CUgraphExec_st::Yields::kGraph && !exec.nodes.empty()) {
    Report(exec, *stream, call.correlation_id(), all);
  }
  return call.Return(CUDA_SUCCESS);
}

CUresult BeginCapture(CUstream handle) {
  FAKE_GPU_REQUIRE(handle != nullptr && ResolveStream(handle) == handle,
                   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  FAKE_GPU_REQUIRE(handle->capture == nullptr, CUDA_ERROR_INVALID_VALUE);
  return cuGraphCreate(&handle->capture, 0);
}

CUresult EndCapture(CUstream handle, CUgraph* out) {
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && out != nullptr && stream->capture != nullptr,
                   CUDA_ERROR_INVALID_VALUE);
  *out = stream->capture;
  stream->capture = nullptr;
  return CUDA_SUCCESS;
}

// Returns whether a stream that the legacy default stream waits for is being captured. CUDA then
// refuses queries of the default stream.
bool CaptureForbidsDefault(CUctx_st& context) {
  const std::lock_guard lock(context.mutex);
  for (const auto& stream : context.streams) {
    if (stream->capture != nullptr && (stream->flags & CU_STREAM_NON_BLOCKING) == 0) return true;
  }
  return false;
}

}  // namespace

CUgraphNode_st* AddNode(CUgraph_st& graph, const Launch& launch) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->function = launch.function;
  node->grid = launch.grid;
  node->block = launch.block;
  node->shared_bytes = launch.shared_bytes;
  node->duration_ns = launch.duration_ns;
  node->launch_type = launch.launch_type;
  node->id = g_next_node_id.fetch_add(1, std::memory_order_relaxed);
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuGraphCreate(CUgraph* out, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = new CUgraph_st;
  (*out)->id = g_next_graph_id.fetch_add(1, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  FAKE_GPU_REQUIRE_READY();
  delete graph;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph,
                                                 const CUgraphNode*, size_t,
                                                 const CUDA_KERNEL_NODE_PARAMS* params) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(
      out != nullptr && graph != nullptr && params != nullptr && params->func != nullptr,
      CUDA_ERROR_INVALID_VALUE);
  Launch launch;
  launch.function = params->func;
  launch.grid = {params->gridDimX, params->gridDimY, params->gridDimZ};
  launch.block = {params->blockDimX, params->blockDimY, params->blockDimZ};
  launch.shared_bytes = params->sharedMemBytes;
  launch.duration_ns = RequestedDuration(*params->func, params->kernelParams);
  *out = AddNode(*graph, launch);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr && count != nullptr, CUDA_ERROR_INVALID_VALUE);
  for (std::size_t i = 0; nodes != nullptr && i < *count && i < graph->nodes.size(); ++i) {
    nodes[i] = graph->nodes[i].get();
  }
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph,
                                                     unsigned long long) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && graph != nullptr, CUDA_ERROR_INVALID_VALUE);
  auto exec = std::make_unique<CUgraphExec_st>();
  exec->id = g_next_graph_id.fetch_add(1, std::memory_order_relaxed);
  exec->yields = YieldsNow();
  for (const auto& node : graph->nodes) {
    exec->nodes.push_back(*node);
    // The nodes of an executable graph are clones with their own ids.
    exec->nodes.back().id = g_next_node_id.fetch_add(1, std::memory_order_relaxed);
  }
  *out = exec.release();
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode*, char*,
                                               size_t) {
  return cuGraphInstantiateWithFlags(out, graph, 0);
}

FAKE_GPU_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph,
                                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params != nullptr) params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return cuGraphInstantiateWithFlags(out, graph, 0);
}
FAKE_GPU_ALIAS("cuGraphInstantiateWithParams_ptsz", "cuGraphInstantiateWithParams");

FAKE_GPU_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  FAKE_GPU_REQUIRE_READY();
  delete exec;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphUpload(CUgraphExec, CUstream) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuGraphUpload_ptsz", "cuGraphUpload");

FAKE_GPU_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return LaunchGraph(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch",
                     cuGraphLaunch_params{exec, stream}, exec, stream);
}

FAKE_GPU_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  return LaunchGraph(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, "cuGraphLaunch_ptsz",
                     cuGraphLaunch_ptsz_params{exec, stream}, exec, stream);
}

FAKE_GPU_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  FAKE_GPU_REQUIRE_READY();
  const cuStreamBeginCapture_v2_params params = {handle, mode};
  ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2", &params,
               nullptr, CurrentContext());
  return call.Return(BeginCapture(handle));
}
FAKE_GPU_ALIAS("cuStreamBeginCapture", "cuStreamBeginCapture_v2");
FAKE_GPU_ALIAS("cuStreamBeginCapture_ptsz", "cuStreamBeginCapture_v2");
FAKE_GPU_ALIAS("cuStreamBeginCapture_v2_ptsz", "cuStreamBeginCapture_v2");

FAKE_GPU_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
  FAKE_GPU_REQUIRE_READY();
  const cuStreamEndCapture_params params = {handle, out};
  ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, "cuStreamEndCapture", &params, nullptr,
               CurrentContext());
  return call.Return(EndCapture(handle, out));
}
FAKE_GPU_ALIAS("cuStreamEndCapture_ptsz", "cuStreamEndCapture");

FAKE_GPU_EXPORT CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && status != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(stream == handle || handle == CU_STREAM_PER_THREAD ||
                       !CaptureForbidsDefault(*stream->context),
                   CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  *status =
      stream->capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamIsCapturing_ptsz", "cuStreamIsCapturing");

FAKE_GPU_EXPORT CUresult fakeGpuGraphExecId(CUgraphExec exec, uint32_t* id) {
  FAKE_GPU_REQUIRE(exec != nullptr && id != nullptr, CUDA_ERROR_INVALID_VALUE);
  *id = exec->id;
  return CUDA_SUCCESS;
}
