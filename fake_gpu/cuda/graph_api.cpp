// SPDX-License-Identifier: Apache-2.0
//
// Whole graphs: cuGraphCreate, cuGraphClone, cuGraphInstantiate*, cuGraphExec*. Nodes are in
// graph_nodes_api.cpp, launches in graph_launch_api.cpp.
#include <cupti.h>

#include <cstdio>

#include "cuda/api_call.h"
#include "cuda/contexts.h"
#include "cuda/graphs.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

std::uint32_t NewExecId() {
  // Graphs and executable graphs share no ids.
  const std::unique_ptr<CUgraph_st> unused(NewGraph());
  return unused->id;
}

CUgraphExec_st::Yields YieldsNow() {
  if (HooksFor(FAKE_GPU_INTEREST_GRAPHS) != nullptr) return CUgraphExec_st::Yields::kGraph;
  return HooksFor(FAKE_GPU_INTEREST_KERNELS) != nullptr ? CUgraphExec_st::Yields::kKernels
                                                        : CUgraphExec_st::Yields::kNothing;
}

CUresult Instantiate(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  FAKE_GPU_REQUIRE(out != nullptr && graph != nullptr, CUDA_ERROR_INVALID_VALUE);
  std::optional<std::vector<ExecNode>> nodes = Flatten(*graph);
  FAKE_GPU_REQUIRE(nodes.has_value(), CUDA_ERROR_INVALID_VALUE);
  *out =
      new CUgraphExec_st{NewExecId(), flags, YieldsNow(), std::move(*nodes), graph->user_objects};
  return CUDA_SUCCESS;
}

// `Params` is the struct of an instantiation call.
template <typename Params>
CUresult InstantiateBy(std::uint32_t cbid, const char* api_name, const Params& params,
                       unsigned long long flags) {
  FAKE_GPU_REQUIRE_READY();
  ApiCall call(cbid, api_name, &params, nullptr, CurrentContext());
  return call.Return(Instantiate(params.phGraphExec, params.hGraph, flags));
}

template <typename Params>
CUresult InstantiateWithParams(std::uint32_t cbid, const char* api_name, const Params& params) {
  CUDA_GRAPH_INSTANTIATE_PARAMS* p = params.instantiateParams;
  FAKE_GPU_REQUIRE(p != nullptr, CUDA_ERROR_INVALID_VALUE);
  const CUresult result = InstantiateBy(cbid, api_name, params, p->flags);
  p->hErrNode_out = nullptr;
  p->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                                         : CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
  return result;
}

// Compares two flattened graphs; sets the index of the first difference.
CUgraphExecUpdateResult Compare(const std::vector<ExecNode>& ours,
                                const std::vector<ExecNode>& theirs, std::size_t& at) {
  for (at = 0; at < ours.size() && at < theirs.size(); ++at) {
    if (ours[at].work.index() != theirs[at].work.index()) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    }
    if (ours[at].dependencies != theirs[at].dependencies) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
  }
  return ours.size() == theirs.size() ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                      : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
}

CUresult Update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo& info) {
  FAKE_GPU_REQUIRE_READY();
  info = {};
  FAKE_GPU_REQUIRE(exec != nullptr && graph != nullptr, CUDA_ERROR_INVALID_VALUE);
  std::optional<std::vector<ExecNode>> nodes = Flatten(*graph);
  FAKE_GPU_REQUIRE(nodes.has_value(), CUDA_ERROR_INVALID_VALUE);
  std::size_t at = 0;
  info.result = Compare(exec->nodes, *nodes, at);
  if (info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    if (at < nodes->size()) info.errorNode = (*nodes)[at].source;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (at = 0; at < nodes->size(); ++at) exec->nodes[at].work = std::move((*nodes)[at].work);
  return CUDA_SUCCESS;
}

const char* NameOf(CUgraphNodeType type) {
  constexpr const char* kNames[] = {"KERNEL", "MEMCPY", "MEMSET",     "HOST",
                                    "GRAPH",  "EMPTY",  "WAIT_EVENT", "EVENT_RECORD",
                                    "",       "",       "MEM_ALLOC",  "MEM_FREE"};
  return kNames[type];
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuGraphCreate(CUgraph* out, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = NewGraph();
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  FAKE_GPU_REQUIRE_READY();
  delete graph;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphClone(CUgraph* out, CUgraph graph) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && graph != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = Clone(*graph).release();
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original,
                                                CUgraph clone) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && clone != nullptr, CUDA_ERROR_INVALID_VALUE);
  for (const auto& node : clone->nodes) {
    if (node->original != original) continue;
    *out = node.get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

FAKE_GPU_EXPORT CUresult cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr && path != nullptr, CUDA_ERROR_INVALID_VALUE);
  std::FILE* file = std::fopen(path, "w");
  FAKE_GPU_REQUIRE(file != nullptr, CUDA_ERROR_OPERATING_SYSTEM);
  std::fprintf(file, "digraph dot {\n");
  for (const auto& node : graph->nodes) {
    const auto* kernel = std::get_if<KernelNode>(&node->work);
    std::fprintf(file, "  n%llu [label=\"%s %s\"];\n", static_cast<unsigned long long>(node->id),
                 NameOf(TypeOf(node->work)), kernel == nullptr ? "" : kernel->function->name);
    for (const CUgraphNode dependency : node->dependencies) {
      std::fprintf(file, "  n%llu -> n%llu;\n", static_cast<unsigned long long>(dependency->id),
                   static_cast<unsigned long long>(node->id));
    }
  }
  std::fprintf(file, "}\n");
  std::fclose(file);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph,
                                                     unsigned long long flags) {
  return InstantiateBy(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags,
                       "cuGraphInstantiateWithFlags",
                       cuGraphInstantiateWithFlags_params{out, graph, flags}, flags);
}

FAKE_GPU_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* error,
                                               char* log, size_t bytes) {
  if (error != nullptr) *error = nullptr;
  return InstantiateBy(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2, "cuGraphInstantiate_v2",
                       cuGraphInstantiate_v2_params{out, graph, error, log, bytes}, 0);
}

#undef cuGraphInstantiate
FAKE_GPU_EXPORT CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode* error,
                                            char* log, size_t bytes) {
  return cuGraphInstantiate_v2(out, graph, error, log, bytes);
}

FAKE_GPU_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph,
                                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  return InstantiateWithParams(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams,
                               "cuGraphInstantiateWithParams",
                               cuGraphInstantiateWithParams_params{out, graph, params});
}

FAKE_GPU_EXPORT CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* out, CUgraph graph,
                                                           CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  return InstantiateWithParams(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz,
                               "cuGraphInstantiateWithParams_ptsz",
                               cuGraphInstantiateWithParams_ptsz_params{out, graph, params});
}

FAKE_GPU_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  FAKE_GPU_REQUIRE_READY();
  delete exec;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(exec != nullptr && flags != nullptr, CUDA_ERROR_INVALID_VALUE);
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                              CUgraphExecUpdateResultInfo* info) {
  FAKE_GPU_REQUIRE(info != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Update(exec, graph, *info);
}

#undef cuGraphExecUpdate
FAKE_GPU_EXPORT CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error,
                                           CUgraphExecUpdateResult* out) {
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  CUgraphExecUpdateResultInfo info = {};
  const CUresult result = Update(exec, graph, info);
  *out = info.result;
  if (error != nullptr) *error = info.errorNode;
  return result;
}

FAKE_GPU_EXPORT CUresult cuGraphUpload(CUgraphExec, CUstream) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuGraphUpload_ptsz", "cuGraphUpload");

FAKE_GPU_EXPORT CUresult fakeGpuGraphExecId(CUgraphExec exec, uint32_t* id) {
  FAKE_GPU_REQUIRE(exec != nullptr && id != nullptr, CUDA_ERROR_INVALID_VALUE);
  *id = exec->id;
  return CUDA_SUCCESS;
}
