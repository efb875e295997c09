// SPDX-License-Identifier: Apache-2.0
//
// Nodes and dependencies of a graph. Edge data is ignored and reported as zero.
#include <algorithm>

#include "cuda/graph_objects.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

// Stores as many items as fit into `*count`, and the number of all items in `*count`; without an
// array, only the number. Places beyond the items become null.
CUresult Store(const std::vector<CUgraphNode>& items, CUgraphNode* out, std::size_t* count) {
  if (out != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) out[i] = i < items.size() ? items[i] : nullptr;
    if (*count >= items.size()) *count = items.size();
    return CUDA_SUCCESS;
  }
  *count = items.size();
  return CUDA_SUCCESS;
}

void ClearEdges(CUgraphEdgeData* edges, std::size_t count) {
  if (edges != nullptr) std::fill_n(edges, count, CUgraphEdgeData{});
}

template <typename Predicate>
std::vector<CUgraphNode> NodesIf(const CUgraph_st& graph, Predicate&& matches) {
  std::vector<CUgraphNode> nodes;
  for (const auto& node : graph.nodes) {
    if (matches(*node)) nodes.push_back(node.get());
  }
  return nodes;
}

bool DependsOn(const CUgraphNode_st& node, CUgraphNode other) {
  const auto& all = node.dependencies;
  return std::find(all.begin(), all.end(), other) != all.end();
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr && count != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Store(NodesIf(*graph, [](const CUgraphNode_st&) { return true; }), nodes, count);
}

FAKE_GPU_EXPORT CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr && count != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Store(
      NodesIf(*graph, [](const CUgraphNode_st& node) { return node.dependencies.empty(); }), nodes,
      count);
}

FAKE_GPU_EXPORT CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                            CUgraphEdgeData* data, size_t* count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr && count != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE((from == nullptr) == (to == nullptr), CUDA_ERROR_INVALID_VALUE);
  std::vector<CUgraphNode> sources;
  std::vector<CUgraphNode> targets;
  for (const auto& node : graph->nodes) {
    for (const CUgraphNode dependency : node->dependencies) {
      sources.push_back(dependency);
      targets.push_back(node.get());
    }
  }
  std::size_t same_count = *count;
  Store(sources, from, &same_count);
  Store(targets, to, count);
  ClearEdges(data, *count);
  return CUDA_SUCCESS;
}

#undef cuGraphGetEdges
FAKE_GPU_EXPORT CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                         size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

FAKE_GPU_EXPORT CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* out,
                                                       CUgraphEdgeData* data, size_t* count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(node != nullptr && count != nullptr, CUDA_ERROR_INVALID_VALUE);
  Store(node->dependencies, out, count);
  ClearEdges(data, *count);
  return CUDA_SUCCESS;
}

#undef cuGraphNodeGetDependencies
FAKE_GPU_EXPORT CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out,
                                                    size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, out, nullptr, count);
}

FAKE_GPU_EXPORT CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* out,
                                                         CUgraphEdgeData* data, size_t* count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(node != nullptr && count != nullptr, CUDA_ERROR_INVALID_VALUE);
  Store(
      NodesIf(*node->graph, [node](const CUgraphNode_st& other) { return DependsOn(other, node); }),
      out, count);
  ClearEdges(data, *count);
  return CUDA_SUCCESS;
}

#undef cuGraphNodeGetDependentNodes
FAKE_GPU_EXPORT CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out,
                                                      size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, out, nullptr, count);
}

FAKE_GPU_EXPORT CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                   const CUgraphNode* to, const CUgraphEdgeData*,
                                                   size_t count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
  for (std::size_t i = 0; i < count; ++i) {
    FAKE_GPU_REQUIRE(from[i]->graph == graph && to[i]->graph == graph && from[i] != to[i],
                     CUDA_ERROR_INVALID_VALUE);
    FAKE_GPU_REQUIRE(!DependsOn(*to[i], from[i]), CUDA_ERROR_INVALID_VALUE);
    to[i]->dependencies.push_back(from[i]);
  }
  return CUDA_SUCCESS;
}

#undef cuGraphAddDependencies
FAKE_GPU_EXPORT CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                                const CUgraphNode* to, size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

FAKE_GPU_EXPORT CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                      const CUgraphNode* to, const CUgraphEdgeData*,
                                                      size_t count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
  for (std::size_t i = 0; i < count; ++i) {
    FAKE_GPU_REQUIRE(DependsOn(*to[i], from[i]), CUDA_ERROR_INVALID_VALUE);
    std::erase(to[i]->dependencies, from[i]);
  }
  return CUDA_SUCCESS;
}

#undef cuGraphRemoveDependencies
FAKE_GPU_EXPORT CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                                   const CUgraphNode* to, size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}
