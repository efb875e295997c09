// SPDX-License-Identifier: Apache-2.0
//
// Nodes of graphs: how they are added, and their parameters. Edge data is ignored: every dependency
// is on the end of a node.
#include "cuda/graph_node_params.h"
#include "cuda/graphs.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

CUresult Add(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
             NodeWork work) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && graph != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(count == 0 || dependencies != nullptr, CUDA_ERROR_INVALID_VALUE);
  for (std::size_t i = 0; i < count; ++i) {
    FAKE_GPU_REQUIRE(dependencies[i] != nullptr && dependencies[i]->graph == graph,
                     CUDA_ERROR_INVALID_VALUE);
  }
  *out = AddNode(*graph, {dependencies, dependencies + count}, std::move(work));
  return CUDA_SUCCESS;
}

template <typename Params>
CUresult AddFrom(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                 std::size_t count, Params* params) {
  FAKE_GPU_REQUIRE(params != nullptr, CUDA_ERROR_INVALID_VALUE);
  NodeWork work;
  const CUresult result = ToWork(*params, work);
  return result == CUDA_SUCCESS ? Add(out, graph, dependencies, count, std::move(work)) : result;
}

// Stores the work of a node if it is a `Work`.
template <typename Work, typename Out>
CUresult Get(CUgraphNode node, Out* out) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(node != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
  const Work* work = std::get_if<Work>(&node->work);
  FAKE_GPU_REQUIRE(work != nullptr, CUDA_ERROR_INVALID_VALUE);
  if constexpr (std::is_same_v<Work, EventRecordNode> || std::is_same_v<Work, EventWaitNode>) {
    *out = work->event;
  } else if constexpr (std::is_same_v<Work, MemAllocNode>) {
    *out = work->params;
  } else if constexpr (std::is_same_v<Work, MemFreeNode>) {
    *out = work->address;
  } else if constexpr (std::is_same_v<Work, ChildGraphNode>) {
    *out = work->graph.get();
  } else {
    *out = *work;
  }
  return CUDA_SUCCESS;
}

template <typename Params>
CUresult Set(CUgraphNode node, const Params* params) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(node != nullptr && params != nullptr, CUDA_ERROR_INVALID_VALUE);
  NodeWork work;
  const CUresult result = ToWork(*params, work);
  return result == CUDA_SUCCESS ? Replace(node->work, std::move(work)) : result;
}

CUDA_KERNEL_NODE_PARAMS Extend(const CUDA_KERNEL_NODE_PARAMS_v1& p) {
  return {p.func,      p.gridDimX,       p.gridDimY,     p.gridDimZ, p.blockDimX, p.blockDimY,
          p.blockDimZ, p.sharedMemBytes, p.kernelParams, p.extra,    nullptr,     nullptr};
}

KernelNode* KernelOf(CUgraphNode node) {
  return node == nullptr ? nullptr : std::get_if<KernelNode>(&node->work);
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph,
                                                 const CUgraphNode* dependencies, size_t count,
                                                 const CUDA_KERNEL_NODE_PARAMS* params) {
  return AddFrom(out, graph, dependencies, count, params);
}

#undef cuGraphAddKernelNode
FAKE_GPU_EXPORT CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph,
                                              const CUgraphNode* dependencies, size_t count,
                                              const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  FAKE_GPU_REQUIRE(params != nullptr, CUDA_ERROR_INVALID_VALUE);
  const CUDA_KERNEL_NODE_PARAMS extended = Extend(*params);
  return AddFrom(out, graph, dependencies, count, &extended);
}

FAKE_GPU_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph,
                                              const CUgraphNode* dependencies, size_t count,
                                              const CUDA_MEMCPY3D* params, CUcontext) {
  return AddFrom(out, graph, dependencies, count, params);
}

FAKE_GPU_EXPORT CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph,
                                              const CUgraphNode* dependencies, size_t count,
                                              const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  return AddFrom(out, graph, dependencies, count, params);
}

FAKE_GPU_EXPORT CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph,
                                            const CUgraphNode* dependencies, size_t count,
                                            const CUDA_HOST_NODE_PARAMS* params) {
  return AddFrom(out, graph, dependencies, count, params);
}

FAKE_GPU_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph,
                                                  const CUgraphNode* dependencies, size_t count,
                                                  CUgraph child) {
  FAKE_GPU_REQUIRE(child != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Add(out, graph, dependencies, count, ChildGraphNode{Clone(*child)});
}

FAKE_GPU_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph,
                                             const CUgraphNode* dependencies, size_t count) {
  return Add(out, graph, dependencies, count, EmptyNode{});
}

FAKE_GPU_EXPORT CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph,
                                                   const CUgraphNode* dependencies, size_t count,
                                                   CUevent event) {
  FAKE_GPU_REQUIRE(event != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Add(out, graph, dependencies, count, EventRecordNode{event});
}

FAKE_GPU_EXPORT CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph,
                                                 const CUgraphNode* dependencies, size_t count,
                                                 CUevent event) {
  FAKE_GPU_REQUIRE(event != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Add(out, graph, dependencies, count, EventWaitNode{event});
}

FAKE_GPU_EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph,
                                                const CUgraphNode* dependencies, size_t count,
                                                CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  FAKE_GPU_REQUIRE(params != nullptr, CUDA_ERROR_INVALID_VALUE);
  MemAllocNode node;
  const CUresult result = AllocateForGraph(*params, node);
  FAKE_GPU_REQUIRE(result == CUDA_SUCCESS, result);
  params->dptr = node.params.dptr;
  return Add(out, graph, dependencies, count, std::move(node));
}

FAKE_GPU_EXPORT CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph graph,
                                               const CUgraphNode* dependencies, size_t count,
                                               CUdeviceptr address) {
  return Add(out, graph, dependencies, count, MemFreeNode{address});
}

FAKE_GPU_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph,
                                           const CUgraphNode* dependencies, const CUgraphEdgeData*,
                                           size_t count, CUgraphNodeParams* params) {
  return AddFrom(out, graph, dependencies, count, params);
}

#undef cuGraphAddNode
FAKE_GPU_EXPORT CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph,
                                        const CUgraphNode* dependencies, size_t count,
                                        CUgraphNodeParams* params) {
  return AddFrom(out, graph, dependencies, count, params);
}

FAKE_GPU_EXPORT CUresult cuGraphDestroyNode(CUgraphNode node) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(node != nullptr, CUDA_ERROR_INVALID_VALUE);
  auto& nodes = node->graph->nodes;
  for (const auto& other : nodes) std::erase(other->dependencies, node);
  std::erase_if(nodes, [node](const auto& one) { return one.get() == node; });
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* out) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(node != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = TypeOf(node->work);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                       CUDA_KERNEL_NODE_PARAMS* out) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(KernelOf(node) != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = ToParams(*node);
  return CUDA_SUCCESS;
}

#undef cuGraphKernelNodeGetParams
FAKE_GPU_EXPORT CUresult cuGraphKernelNodeGetParams(CUgraphNode node,
                                                    CUDA_KERNEL_NODE_PARAMS_v1* out) {
  CUDA_KERNEL_NODE_PARAMS p;
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  const CUresult result = cuGraphKernelNodeGetParams_v2(node, &p);
  FAKE_GPU_REQUIRE(result == CUDA_SUCCESS, result);
  *out = {p.func,      p.gridDimX,  p.gridDimY,       p.gridDimZ,     p.blockDimX,
          p.blockDimY, p.blockDimZ, p.sharedMemBytes, p.kernelParams, p.extra};
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                       const CUDA_KERNEL_NODE_PARAMS* params) {
  return Set(node, params);
}

#undef cuGraphKernelNodeSetParams
FAKE_GPU_EXPORT CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                                    const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  FAKE_GPU_REQUIRE(params != nullptr, CUDA_ERROR_INVALID_VALUE);
  const CUDA_KERNEL_NODE_PARAMS extended = Extend(*params);
  return Set(node, &extended);
}

FAKE_GPU_EXPORT CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                                       CUkernelNodeAttrValue* out) {
  FAKE_GPU_REQUIRE_READY();
  const KernelNode* kernel = KernelOf(node);
  FAKE_GPU_REQUIRE(kernel != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
  const auto found = kernel->attributes.find(id);
  *out = found == kernel->attributes.end() ? CUkernelNodeAttrValue{} : found->second;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                                       const CUkernelNodeAttrValue* value) {
  FAKE_GPU_REQUIRE_READY();
  KernelNode* kernel = KernelOf(node);
  FAKE_GPU_REQUIRE(kernel != nullptr && value != nullptr, CUDA_ERROR_INVALID_VALUE);
  kernel->attributes[id] = *value;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(KernelOf(to) != nullptr && KernelOf(from) != nullptr, CUDA_ERROR_INVALID_VALUE);
  KernelOf(to)->attributes = KernelOf(from)->attributes;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* out) {
  return Get<CUDA_MEMCPY3D>(node, out);
}
FAKE_GPU_EXPORT CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  return Set(node, params);
}
FAKE_GPU_EXPORT CUresult cuGraphMemsetNodeGetParams(CUgraphNode node,
                                                    CUDA_MEMSET_NODE_PARAMS* out) {
  return Get<CUDA_MEMSET_NODE_PARAMS>(node, out);
}
FAKE_GPU_EXPORT CUresult cuGraphMemsetNodeSetParams(CUgraphNode node,
                                                    const CUDA_MEMSET_NODE_PARAMS* params) {
  return Set(node, params);
}
FAKE_GPU_EXPORT CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* out) {
  return Get<CUDA_HOST_NODE_PARAMS>(node, out);
}
FAKE_GPU_EXPORT CUresult cuGraphHostNodeSetParams(CUgraphNode node,
                                                  const CUDA_HOST_NODE_PARAMS* params) {
  return Set(node, params);
}
FAKE_GPU_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* out) {
  return Get<ChildGraphNode>(node, out);
}
FAKE_GPU_EXPORT CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* out) {
  return Get<EventRecordNode>(node, out);
}
FAKE_GPU_EXPORT CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* out) {
  return Get<EventWaitNode>(node, out);
}
FAKE_GPU_EXPORT CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  FAKE_GPU_REQUIRE(node != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Replace(node->work, EventRecordNode{event});
}
FAKE_GPU_EXPORT CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  FAKE_GPU_REQUIRE(node != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Replace(node->work, EventWaitNode{event});
}
FAKE_GPU_EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node,
                                                      CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  return Get<MemAllocNode>(node, out);
}
FAKE_GPU_EXPORT CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* out) {
  return Get<MemFreeNode>(node, out);
}

FAKE_GPU_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(node != nullptr && params != nullptr, CUDA_ERROR_INVALID_VALUE);
  NodeWork work;
  const CUresult result = ToWork(*params, work);
  return result == CUDA_SUCCESS ? Replace(node->work, std::move(work)) : result;
}
