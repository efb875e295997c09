// SPDX-License-Identifier: Apache-2.0
//
// Nodes of executable graphs: cuGraphExec*SetParams, cuGraphNodeSetEnabled. A node is named by the
// node of the graph that was instantiated.
#include "cuda/graph_node_params.h"
#include "cuda/graphs.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

ExecNode* Find(CUgraphExec exec, CUgraphNode source) {
  if (exec == nullptr) return nullptr;
  for (ExecNode& node : exec->nodes) {
    if (node.source == source) return &node;
  }
  return nullptr;
}

CUresult SetWork(CUgraphExec exec, CUgraphNode source, NodeWork work) {
  FAKE_GPU_REQUIRE_READY();
  ExecNode* node = Find(exec, source);
  FAKE_GPU_REQUIRE(node != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Replace(node->work, std::move(work));
}

template <typename Params>
CUresult Set(CUgraphExec exec, CUgraphNode source, Params* params) {
  FAKE_GPU_REQUIRE(params != nullptr, CUDA_ERROR_INVALID_VALUE);
  NodeWork work;
  const CUresult result = ToWork(*params, work);
  return result == CUDA_SUCCESS ? SetWork(exec, source, std::move(work)) : result;
}

// Replaces the nodes of a child graph by the nodes of `child`, which has the same structure.
CUresult SetChild(CUgraphExec exec, CUgraphNode source, const CUgraph_st& child) {
  const ExecNode* node = Find(exec, source);
  FAKE_GPU_REQUIRE(node != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::optional<std::vector<ExecNode>> nodes = Flatten(child);
  FAKE_GPU_REQUIRE(nodes.has_value(), CUDA_ERROR_INVALID_VALUE);
  const auto end = static_cast<std::size_t>(node - exec->nodes.data());
  FAKE_GPU_REQUIRE(nodes->size() <= end, CUDA_ERROR_INVALID_VALUE);
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    NodeWork work = (*nodes)[i].work;
    const CUresult result = Replace(exec->nodes[end - nodes->size() + i].work, std::move(work));
    FAKE_GPU_REQUIRE(result == CUDA_SUCCESS, result);
  }
  return CUDA_SUCCESS;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  return Set(exec, node, params);
}

#undef cuGraphExecKernelNodeSetParams
FAKE_GPU_EXPORT CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  FAKE_GPU_REQUIRE(params != nullptr, CUDA_ERROR_INVALID_VALUE);
  const CUDA_KERNEL_NODE_PARAMS extended = {
      params->func,         params->gridDimX,  params->gridDimY,  params->gridDimZ,
      params->blockDimX,    params->blockDimY, params->blockDimZ, params->sharedMemBytes,
      params->kernelParams, params->extra,     nullptr,           nullptr};
  return Set(exec, node, &extended);
}

FAKE_GPU_EXPORT CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                        const CUDA_MEMCPY3D* params, CUcontext) {
  return Set(exec, node, params);
}

FAKE_GPU_EXPORT CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                        const CUDA_MEMSET_NODE_PARAMS* params,
                                                        CUcontext) {
  return Set(exec, node, params);
}

FAKE_GPU_EXPORT CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_HOST_NODE_PARAMS* params) {
  return Set(exec, node, params);
}

FAKE_GPU_EXPORT CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                            CUgraph child) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(exec != nullptr && child != nullptr, CUDA_ERROR_INVALID_VALUE);
  return SetChild(exec, node, *child);
}

FAKE_GPU_EXPORT CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                            CUevent event) {
  return SetWork(exec, node, EventRecordNode{event});
}

FAKE_GPU_EXPORT CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                          CUevent event) {
  return SetWork(exec, node, EventWaitNode{event});
}

FAKE_GPU_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                  CUgraphNodeParams* params) {
  return Set(exec, node, params);
}

FAKE_GPU_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode source,
                                               unsigned is_enabled) {
  FAKE_GPU_REQUIRE_READY();
  ExecNode* node = Find(exec, source);
  FAKE_GPU_REQUIRE(node != nullptr, CUDA_ERROR_INVALID_VALUE);
  node->is_enabled = is_enabled != 0;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode source,
                                               unsigned* out) {
  FAKE_GPU_REQUIRE_READY();
  const ExecNode* node = Find(exec, source);
  FAKE_GPU_REQUIRE(node != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = node->is_enabled ? 1 : 0;
  return CUDA_SUCCESS;
}
