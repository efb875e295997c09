// SPDX-License-Identifier: Apache-2.0
#include "cuda/graphs.h"

#include <algorithm>
#include <utility>

#include "cuda/contexts.h"
#include "cuda/memory.h"

namespace fake_gpu {
namespace {

std::atomic<std::uint64_t> g_next_node_id{1};

std::uint64_t NewNodeId() {
  return g_next_node_id.fetch_add(1, std::memory_order_relaxed);
}

// Returns the nodes of the graph so that each follows its dependencies; fewer if there is a cycle.
std::vector<const CUgraphNode_st*> Sorted(const CUgraph_st& graph) {
  std::vector<const CUgraphNode_st*> sorted;
  std::map<const CUgraphNode_st*, bool> done;
  bool is_progressing = true;
  while (is_progressing && sorted.size() < graph.nodes.size()) {
    is_progressing = false;
    for (const auto& node : graph.nodes) {
      if (done[node.get()]) continue;
      const auto& all = node->dependencies;
      if (!std::all_of(all.begin(), all.end(), [&](CUgraphNode d) { return done[d]; })) continue;
      sorted.push_back(node.get());
      done[node.get()] = is_progressing = true;
    }
  }
  return sorted;
}

// Appends the nodes of a graph whose first nodes depend on `before`. Returns false if there is a
// cycle. Sets `all` to the indexes of the graph's nodes.
bool Append(const CUgraph_st& graph, const std::vector<std::size_t>& before,
            std::vector<ExecNode>& out, std::vector<std::size_t>& all) {
  const std::vector<const CUgraphNode_st*> sorted = Sorted(graph);
  if (sorted.size() != graph.nodes.size()) return false;
  std::map<const CUgraphNode_st*, std::size_t> index;
  for (const CUgraphNode_st* node : sorted) {
    ExecNode exec;
    exec.source = const_cast<CUgraphNode>(node);
    for (const CUgraphNode dependency : node->dependencies) {
      exec.dependencies.push_back(index[dependency]);
    }
    if (node->dependencies.empty()) exec.dependencies = before;
    if (const auto* child = std::get_if<ChildGraphNode>(&node->work)) {
      std::vector<std::size_t> inner;
      if (!Append(*child->graph, exec.dependencies, out, inner)) return false;
      if (!inner.empty()) exec.dependencies = std::move(inner);
    }
    exec.id = NewNodeId();  // the nodes of an executable graph are clones with their own ids
    exec.work = node->work;
    index[node] = out.size();
    all.push_back(out.size());
    out.push_back(std::move(exec));
  }
  return true;
}

}  // namespace

CUgraph NewGraph() {
  static std::atomic<std::uint32_t> next_id{1};
  auto* graph = new CUgraph_st;
  graph->id = next_id.fetch_add(1, std::memory_order_relaxed);
  return graph;
}

CUgraphNode AddNode(CUgraph_st& graph, std::vector<CUgraphNode> dependencies, NodeWork work) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->graph = &graph;
  node->id = NewNodeId();
  node->dependencies = std::move(dependencies);
  node->work = std::move(work);
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

std::unique_ptr<CUgraph_st> Clone(const CUgraph_st& graph) {
  std::unique_ptr<CUgraph_st> clone(NewGraph());
  std::map<CUgraphNode, CUgraphNode> copies;
  for (const auto& node : graph.nodes) {
    NodeWork work = node->work;
    if (auto* child = std::get_if<ChildGraphNode>(&work)) child->graph = Clone(*child->graph);
    const CUgraphNode copy = AddNode(*clone, {}, std::move(work));
    copy->original = node.get();
    copies[node.get()] = copy;
  }
  for (const auto& node : graph.nodes) {
    for (const CUgraphNode one : node->dependencies) {
      copies[node.get()]->dependencies.push_back(copies[one]);
    }
  }
  return clone;
}

CUgraphNodeType TypeOf(const NodeWork& work) {
  constexpr CUgraphNodeType kTypes[] = {
      CU_GRAPH_NODE_TYPE_EMPTY,        CU_GRAPH_NODE_TYPE_KERNEL,     CU_GRAPH_NODE_TYPE_MEMCPY,
      CU_GRAPH_NODE_TYPE_MEMSET,       CU_GRAPH_NODE_TYPE_HOST,       CU_GRAPH_NODE_TYPE_GRAPH,
      CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
      CU_GRAPH_NODE_TYPE_MEM_FREE};
  static_assert(std::size(kTypes) == std::variant_size_v<NodeWork>);
  return kTypes[work.index()];
}

std::optional<std::vector<ExecNode>> Flatten(const CUgraph_st& graph) {
  std::vector<ExecNode> nodes;
  std::vector<std::size_t> all;
  if (!Append(graph, {}, nodes, all)) return std::nullopt;
  return nodes;
}

std::unique_ptr<CUgraph_st> Unflatten(const CUgraphExec_st& exec) {
  std::unique_ptr<CUgraph_st> graph(NewGraph());
  std::vector<CUgraphNode> nodes;
  for (const ExecNode& node : exec.nodes) {
    std::vector<CUgraphNode> dependencies;
    for (const std::size_t index : node.dependencies) dependencies.push_back(nodes[index]);
    const bool is_marker = !node.is_enabled || std::holds_alternative<ChildGraphNode>(node.work);
    nodes.push_back(AddNode(*graph, std::move(dependencies), is_marker ? EmptyNode{} : node.work));
  }
  return graph;
}

CUresult AllocateForGraph(CUDA_MEM_ALLOC_NODE_PARAMS params, MemAllocNode& out) {
  if (params.bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation wanted;
  wanted.bytes = params.bytesize;
  wanted.device = params.poolProps.location.id;
  wanted.belongs_to_graph = true;
  void* block = nullptr;
  const CUresult allocated = Allocate(wanted, &block);
  if (allocated != CUDA_SUCCESS) return allocated;
  params.dptr = reinterpret_cast<CUdeviceptr>(block);
  out.params = params;
  out.memory = std::make_shared<GraphMemory>(reinterpret_cast<std::uintptr_t>(block),
                                             FindAllocation(block)->id);
  return CUDA_SUCCESS;
}

KernelNode ToNode(const Launch& launch) {
  KernelNode node;
  node.function = launch.function;
  node.grid = launch.grid;
  node.block = launch.block;
  node.shared_bytes = launch.shared_bytes;
  node.launch_type = launch.launch_type;
  node.requested_ns = launch.duration_ns;
  return node;
}

GraphMemory::~GraphMemory() {
  FreeIfSame(base_, id_);
}

}  // namespace fake_gpu
